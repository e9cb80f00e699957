#include "app/desktop/widgets/splitter.h"

#include "app/desktop/widgets/theme.h"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr int kKeyStep = 16;
constexpr int kGripLength = 24;

class Handle : public QSplitterHandle {
public:
    Handle(Qt::Orientation orientation, Splitter* splitter)
        : QSplitterHandle(orientation, splitter), m_splitter(*splitter) {
        setFocusPolicy(Qt::TabFocus);
        setAttribute(Qt::WA_Hover);
    }

protected:
    void mouseDoubleClickEvent(QMouseEvent*) override { m_splitter.forgetMove(); }

    void keyPressEvent(QKeyEvent* event) override {
        const bool sideways = orientation() == Qt::Horizontal;
        const int less = sideways ? Qt::Key_Left : Qt::Key_Up;
        const int more = sideways ? Qt::Key_Right : Qt::Key_Down;
        if (event->key() == less)
            m_splitter.moveBy(-kKeyStep);
        else if (event->key() == more)
            m_splitter.moveBy(kKeyStep);
        else
            QSplitterHandle::keyPressEvent(event);
    }

    /// A hairline, with a grip that takes the accent under the pointer and with the focus.
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        const bool sideways = orientation() == Qt::Horizontal;
        const QRect line =
            sideways ? QRect(width() / 2, 0, 1, height()) : QRect(0, height() / 2, width(), 1);
        painter.fillRect(line, theme.hairline);
        const QSize size = sideways ? QSize(3, kGripLength) : QSize(kGripLength, 3);
        QRect grip({}, size);
        grip.moveCenter(rect().center());
        const bool marked = hasFocus() || underMouse();
        painter.fillRect(grip, marked ? theme.accent : theme.quietText);
    }

private:
    Splitter& m_splitter;
};

}  // namespace

Splitter::Splitter(Qt::Orientation orientation, const QString& name, const QString& spoken,
                   QWidget* parent)
    : QSplitter(orientation, parent), m_spoken(spoken) {
    setObjectName(name);
    setChildrenCollapsible(false);
    setHandleWidth(kGapGroup);
    connect(this, &QSplitter::splitterMoved, this, [this] { m_moved = true; });
}

QSplitterHandle* Splitter::createHandle() {
    auto* handle = new Handle(orientation(), this);
    handle->setAccessibleName(m_spoken);
    handle->setToolTip(tr("Drag, or move with the arrow keys; a double click puts it back"));
    return handle;
}

void Splitter::setPreferredSize(int index, int pixels) {
    m_preferred[index] = pixels;
    prefer();
}

void Splitter::setPreferredShares(const QList<int>& shares) {
    m_shares = shares;
    for (int i = 0; i < shares.size(); ++i) setStretchFactor(i, shares[i]);
    prefer();
}

int Splitter::room() const {
    const int all = orientation() == Qt::Horizontal ? width() : height();
    int gaps = 0;
    for (int i = 1; i < count(); ++i)
        if (!widget(i)->isHidden()) gaps += handleWidth();
    return std::max(all - gaps, 0);
}

void Splitter::prefer() {
    if (m_moved || count() == 0) return;
    QList<int> sizes;
    if (!m_shares.isEmpty()) {
        int all = 0;
        for (const int share : m_shares) all += share;
        for (const int share : m_shares) sizes << room() * share / std::max(all, 1);
    } else {
        int left = room();
        for (int i = 0; i < count(); ++i) {
            const auto wanted = m_preferred.find(i);
            sizes << (wanted == m_preferred.end() ? 0 : wanted->second);
            if (!widget(i)->isHidden()) left -= sizes.back();
            setStretchFactor(i, i == 0 ? 1 : 0);
        }
        sizes[0] = std::max(left, 0);
    }
    setSizes(sizes);
}

void Splitter::resizeEvent(QResizeEvent* event) {
    QSplitter::resizeEvent(event);
    prefer();
}

void Splitter::showEvent(QShowEvent* event) {
    QSplitter::showEvent(event);
    prefer();
}

void Splitter::setState(const QByteArray& state) {
    const int handle = handleWidth();  // that and the next are part of the state
    m_moved = !state.isEmpty() && restoreState(state);
    setChildrenCollapsible(false);
    setHandleWidth(handle);
    prefer();
}

QByteArray Splitter::state() const {
    return m_moved ? saveState() : QByteArray();
}

void Splitter::forgetMove() {
    m_moved = false;
    prefer();
}

void Splitter::moveBy(int pixels) {
    QList<int> parts = sizes();
    if (parts.size() < 2) return;
    parts[0] += pixels;
    parts[1] -= pixels;
    if (parts[0] < 0 || parts[1] < 0) return;
    m_moved = true;
    setSizes(parts);
}

}  // namespace shardscope::desktop
