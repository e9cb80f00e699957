#include "app/desktop/shell/page_area.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/reading_order.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QCloseEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

/// Two pages beside each other need so much.
constexpr int kWideArea = 1300;

using namespace Qt::StringLiterals;

/// The name of the page, by which it is dragged, and what can be done with it.
class DockBar : public QWidget {
public:
    DockBar(PageDock& dock, const QString& name) : QWidget(&dock) {
        auto* title = new QLabel(name, this);
        title->setFont(textFont(kSmallPixels, QFont::DemiBold));
        m_apart = tool(PageDock::tr("%1 in a separate window, or docked again").arg(name));
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

PageArea::PageArea(QWidget* parent)
    : QMainWindow(parent), m_room(new PlainArea), m_middle(new CurrentStack) {
    setWindowFlags(Qt::Widget);
    setDockOptions(AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setContextMenuPolicy(Qt::NoContextMenu);  // theirs would offer to hide a page for good
    m_room->setWidget(m_middle);
    setCentralWidget(m_room);
    connect(this, &PageArea::moved, this, &PageArea::giveRoom);
    connect(qApp, &QApplication::focusChanged, this,
            [this](QWidget*, QWidget* now) { followFocus(now); });
    giveRoom();
}

/// Windows of pages close when its children go, which moves the focus.
PageArea::~PageArea() {
    disconnect(qApp, nullptr, this, nullptr);
}

void PageArea::addPage(const QString& id, const QString& name, Page* page) {
    m_pages.insert(id, {name, page, nullptr});
    m_order << id;
    m_middle->addWidget(page);
}

void PageArea::showPage(const QString& id) {
    const Entry entry = m_pages.value(id);
    if (entry.page == nullptr) return;
    if (entry.dock == nullptr) {
        m_recent.removeAll(id);
        m_recent << id;
        m_middle->setCurrentWidget(entry.page);
    } else {
        entry.dock->show();
        entry.dock->raise();
        if (entry.dock->isFloating()) entry.dock->activateWindow();
    }
    setCurrent(id);
    entry.page->setFocus(Qt::OtherFocusReason);  // keys go to the page, not to the first button
}

QString PageArea::middle() const {
    for (const QString& id : m_order)
        if (m_pages[id].page == m_middle->currentWidget()) return id;
    return {};
}

bool PageArea::isSeen(const QString& id) const {
    const Page* found = page(id);
    return found != nullptr && found->isVisible();
}

QStringList PageArea::seen() const {
    QStringList ids;
    for (const QString& id : m_order)
        if (isSeen(id)) ids << id;
    return ids;
}

void PageArea::giveRoom() {
    const bool alone = std::all_of(m_pages.begin(), m_pages.end(), [](const Entry& each) {
        return each.dock == nullptr || each.dock->isFloating();
    });
    m_room->setSqueezes(alone);
}

PagePlace PageArea::placeOf(const QString& id) const {
    PageDock* dock = m_pages.value(id).dock;
    if (dock == nullptr) return PagePlace::kMiddle;
    if (dock->isFloating()) return PagePlace::kWindow;
    const Qt::DockWidgetArea area = dockWidgetArea(dock);
    return area == Qt::BottomDockWidgetArea || area == Qt::TopDockWidgetArea ? PagePlace::kBelow
                                                                             : PagePlace::kRight;
}

void PageArea::move(const QString& id, PagePlace place, double share) {
    if (page(id) == nullptr) return;
    if (place == PagePlace::kMiddle) {
        putBack(id);
    } else {
        if (m_pages[id].dock == nullptr && m_middle->count() == 1) return;
        takeOut(id);
        PageDock* dock = m_pages[id].dock;
        const bool right = place != PagePlace::kBelow;
        addDockWidget(right ? Qt::RightDockWidgetArea : Qt::BottomDockWidgetArea, dock);
        if (dock->isFloating()) window()->activateWindow();
        dock->setFloating(place == PagePlace::kWindow);
        if (dock->isFloating()) {
            dock->resize(size() * 3 / 4);
        } else {
            const int room = right ? width() : height();
            resizeDocks({dock}, {static_cast<int>(room * share)},
                        right ? Qt::Horizontal : Qt::Vertical);
        }
        dock->show();
    }
    Q_EMIT moved();
    showPage(id);
}

void PageArea::takeOut(const QString& id) {
    Entry& entry = m_pages[id];
    if (entry.dock != nullptr) return;
    m_middle->removeWidget(entry.page);
    m_recent.removeAll(id);
    if (!m_recent.isEmpty()) m_middle->setCurrentWidget(m_pages[m_recent.constLast()].page);
    entry.dock = new PageDock(id, entry.name, entry.page, this);
    entry.dock->setRecordingName(m_recording);
    connect(entry.dock, &QDockWidget::topLevelChanged, this, &PageArea::giveRoom);
    connect(
        entry.dock, &PageDock::returnRequested, this,
        [this](const QString& returned) { move(returned, PagePlace::kMiddle); },
        Qt::QueuedConnection);
}

void PageArea::putBack(const QString& id) {
    Entry& entry = m_pages[id];
    PageDock* dock = std::exchange(entry.dock, nullptr);
    if (dock == nullptr) return;
    if (dock->isFloating()) window()->activateWindow();  // that one goes
    dock->release();
    m_middle->addWidget(entry.page);
    removeDockWidget(dock);
    dock->deleteLater();  // it may be what asks
}

void PageArea::putAllBack() {
    for (const QString& id : m_order) putBack(id);
    Q_EMIT moved();
    showPage(m_current);
}

void PageArea::apply(const LayoutPreset& preset) {
    putAllBack();
    for (auto* splitter : findChildren<Splitter*>()) splitter->forgetMove();
    for (const auto& [id, place, share] : preset.beside)
        move(id, place == PagePlace::kRight && width() < kWideArea ? PagePlace::kBelow : place,
             share);
    showPage(preset.middle);
}

QStringList PageArea::apart() const {
    QStringList ids;
    for (const QString& id : m_order)
        if (m_pages[id].dock != nullptr) ids << id;
    return ids;
}

PageLayout PageArea::pageLayout() const {
    PageLayout layout{middle(), apart(), saveState(), {}};
    for (const auto* splitter : findChildren<Splitter*>())
        if (const QByteArray state = splitter->state(); !state.isEmpty())
            layout.dividers.insert(splitter->objectName(), state);
    return layout;
}

void PageArea::apply(const PageLayout& layout) {
    // pages that come into sight may take the focus
    const QString wanted = page(layout.middle) != nullptr ? layout.middle : m_current;
    putAllBack();
    for (const QString& id : layout.apart) {
        if (page(id) == nullptr || m_middle->count() == 1) continue;
        takeOut(id);
        addDockWidget(Qt::RightDockWidgetArea, m_pages[id].dock);
        m_pages[id].dock->show();
    }
    restoreState(layout.docks);
    for (auto* splitter : findChildren<Splitter*>())
        splitter->setState(layout.dividers.value(splitter->objectName()));
    Q_EMIT moved();
    showPage(wanted);
}

void PageArea::hideWindows() {
    for (const Entry& entry : m_pages)
        if (entry.dock != nullptr && entry.dock->isFloating()) entry.dock->hide();
}

void PageArea::setRecordingName(const QString& name) {
    m_recording = name;
    for (const Entry& entry : m_pages)
        if (entry.dock != nullptr) entry.dock->setRecordingName(name);
}

void PageArea::followFocus(QWidget* now) {
    for (QWidget* each = now; each != nullptr; each = each->parentWidget())
        for (const QString& id : m_order)
            if (m_pages[id].page == each) return setCurrent(id);
}

void PageArea::setCurrent(const QString& id) {
    if (m_current == id) return;
    m_current = id;
    Q_EMIT currentChanged(id);
}

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
