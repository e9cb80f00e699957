#include "app/desktop/widgets/plain_area.h"

#include <QEvent>
#include <QScrollArea>
#include <QScrollBar>

namespace shardscope::desktop {
namespace {

constexpr int kLeast = 160;

}  // namespace

PlainArea::PlainArea(QWidget* parent) : QScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    viewport()->setAutoFillBackground(false);
}

void PlainArea::setSqueezes(bool squeezes) {
    m_squeezes = squeezes;
    fit();
}

QSize PlainArea::minimumSizeHint() const {
    return {kLeast, kLeast};
}

QSize PlainArea::sizeHint() const {
    return widget() != nullptr ? widget()->sizeHint() : minimumSizeHint();
}

bool PlainArea::eventFilter(QObject* watched, QEvent* event) {
    if (watched == widget() && event->type() == QEvent::LayoutRequest) fit();
    return QScrollArea::eventFilter(watched, event);
}

void PlainArea::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    fit();
}

void PlainArea::fit() {
    if (widget() == nullptr) return;
    const QSize least = m_squeezes ? QSize() : widget()->minimumSizeHint();
    widget()->resize(maximumViewportSize().expandedTo(least));
    // a bar in one direction takes room from the other
    if (viewport()->size() != maximumViewportSize())
        widget()->resize(viewport()->size().expandedTo(least));
}

using namespace Qt::StringLiterals;

namespace {

class ColumnArea : public QScrollArea {
public:
    using QScrollArea::QScrollArea;
    [[nodiscard]] QSize minimumSizeHint() const override {
        const QSize least = QScrollArea::minimumSizeHint();
        if (widget() == nullptr) return least;
        return {widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width(),
                least.height()};
    }
};

}  // namespace

void hideIdleHandle(QScrollBar* bar) {
    const auto present = [bar](int, int maximum) {
        bar->setStyleSheet(maximum > 0 ? QString()
                                       : u"QScrollBar::handle { background: transparent; }"_s);
    };
    present(0, bar->maximum());
    QObject::connect(bar, &QScrollBar::rangeChanged, bar, present);
}

QWidget* scrollingColumn(QWidget* content, QWidget* parent) {
    auto* scroll = new ColumnArea(parent);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    hideIdleHandle(scroll->verticalScrollBar());
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->viewport()->setAutoFillBackground(false);
    scroll->setWidget(content);
    content->setAutoFillBackground(false);
    return scroll;
}

}  // namespace shardscope::desktop
