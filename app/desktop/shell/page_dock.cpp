#include "app/desktop/shell/page_dock.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/reading_order.h"
#include "app/desktop/widgets/theme.h"

#include <QCloseEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// The name of the page, by which it is dragged, and what can be done with it.
class DockBar : public QWidget {
public:
    DockBar(PageDock& dock, const QString& name) : QWidget(&dock) {
        auto* title = new QLabel(name, this);
        title->setFont(textFont(kSmallPixels, QFont::DemiBold));
        m_apart = tool(PageDock::tr("%1 in a window of its own, or docked again").arg(name));
        m_close = tool(PageDock::tr("Put %1 back into the middle").arg(name));
        auto* layout = new QHBoxLayout(this);
        layout->setContentsMargins(kGap, 2, kGapSmall, 2);
        layout->setSpacing(kGapSmall);
        layout->addWidget(title, 1);
        layout->addWidget(m_apart);
        layout->addWidget(m_close);
        QObject::connect(m_apart, &QToolButton::clicked, &dock,
                         [&dock] { dock.setFloating(!dock.isFloating()); });
        QObject::connect(m_close, &QToolButton::clicked, &dock, &QWidget::close);
        retint();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.fillRect(rect(), theme.panel);
        painter.fillRect(QRect(0, height() - 1, width(), 1), theme.hairline);
    }
    void changeEvent(QEvent* event) override {
        QWidget::changeEvent(event);
        if (event->type() == QEvent::PaletteChange) retint();
    }

private:
    QToolButton* tool(const QString& name) {
        auto* button = new QToolButton(this);
        button->setToolTip(name);
        button->setAccessibleName(name);
        button->setIconSize({14, 14});
        return button;
    }
    void retint() {
        const Theme& theme = Theme::of(this);
        m_apart->setIcon(tintedIcon(u"apart"_s, theme.quietText));
        m_close->setIcon(tintedIcon(u"close"_s, theme.quietText));
    }

    QToolButton *m_apart, *m_close;
};

}  // namespace

PageDock::PageDock(const QString& id, const QString& name, QWidget* page, QWidget* parent)
    : QDockWidget(name, parent), m_id(id), m_name(name), m_page(page) {
    setObjectName(u"dock."_s + id);
    setAttribute(Qt::WA_QuitOnClose, false);
    setAttribute(Qt::WA_ShowWithoutActivating);
    setAccessibleName(name);
    auto* area = new PlainArea(this);
    area->setWidget(page);
    setWidget(area);
    page->show();
    m_bar = new DockBar(*this, name);
    setTitleBarWidget(m_bar);
    connect(this, &QDockWidget::topLevelChanged, this, [this] { chooseBar(); });
}

void PageDock::chooseBar() {
    // where windows cannot place themselves, theirs has to be the frame that moves them
    const bool framed = isFloating() && QGuiApplication::platformName().startsWith(u"wayland"_s);
    QWidget* wanted = framed ? nullptr : m_bar;
    m_bar->setVisible(!framed);
    if (titleBarWidget() != wanted) setTitleBarWidget(wanted);
    setRecordingName(m_recording);
}

QWidget* PageDock::release() {
    auto* area = static_cast<PlainArea*>(widget());
    return area->takeWidget();
}

void PageDock::setRecordingName(const QString& name) {
    m_recording = name;
    setWindowTitle(isFloating() && !name.isEmpty() ? tr("%1 – %2").arg(m_name, name) : m_name);
}

bool PageDock::focusNextPrevChild(bool next) {
    return moveFocus(*window(), next);
}

void PageDock::closeEvent(QCloseEvent* event) {
    event->ignore();  // it goes once its page has been taken out of it
    Q_EMIT returnRequested(m_id);
}

}  // namespace shardscope::desktop
