// Who uses no pointer and no screen: names and roles of all that can be used, and where Tab leads.
#include "app/desktop/pages/pages.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/shell/remote_dialog.h"
#include "app/desktop/widgets/reading_order.h"
#include "tests/app/desktop/window_fixture.h"

#include <QAccessible>
#include <QBoxLayout>
#include <QGridLayout>
#include <QLineEdit>
#include <QMap>
#include <QPushButton>
#include <QScrollArea>
#include <QSet>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

std::string nameOf(const QWidget* widget) {
    if (widget == nullptr) return "nothing";
    return u"%1 \"%2\" in %3"_s
        .arg(QString::fromLatin1(widget->metaObject()->className()), widget->accessibleName(),
             QString::fromLatin1(widget->parentWidget() != nullptr
                                     ? widget->parentWidget()->metaObject()->className()
                                     : "nothing"))
        .toStdString();
}

/// As the window itself counts them, but by properties alone: visible, enabled, for Tab.
std::vector<QWidget*> usable(const QWidget& window) {
    std::vector<QWidget*> found;
    for (QWidget* each : window.findChildren<QWidget*>())
        if (each->window() == &window && each->isVisible() && each->isEnabled() &&
            each->focusProxy() == nullptr && (each->focusPolicy() & Qt::TabFocus) != 0)
            found.push_back(each);
    return found;
}

void expectNamesAndRoles(const QWidget& window, const std::string& where) {
    int names = 0;
    for (QWidget* each : usable(window)) {
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(each);
        ASSERT_NE(spoken, nullptr) << where << ": " << nameOf(each);
        EXPECT_FALSE(spoken->text(QAccessible::Name).trimmed().isEmpty())
            << where << ": " << nameOf(each) << " has no name";
        const QAccessible::Role role = spoken->role();
        EXPECT_TRUE(role != QAccessible::NoRole && role != QAccessible::Client &&
                    role != QAccessible::Pane)
            << where << ": " << nameOf(each) << " has role " << role;
        EXPECT_TRUE(spoken->state().focusable) << where << ": " << nameOf(each);
        ++names;
    }
    EXPECT_GT(names, 0) << where;
}

/// What Tab reaches from where the focus is, until it is back.
std::vector<QWidget*> walk(QWidget& window, Qt::Key key, Qt::KeyboardModifiers held) {
    std::vector<QWidget*> reached;
    QWidget* const first = QApplication::focusWidget();
    for (int i = 0; i < 400; ++i) {
        QWidget* const now = QApplication::focusWidget();
        if (now == nullptr || now->window() != &window) break;
        reached.push_back(now);
        QTest::keyClick(now, key, held);
        if (QApplication::focusWidget() == first) return reached;
        if (QApplication::focusWidget() == now) break;  // a trap
    }
    ADD_FAILURE() << "Tab does not come back; the last was "
                  << nameOf(reached.empty() ? nullptr : reached.back());
    return reached;
}

/// `other` is read after `one`: it is no further up in the same columns, nor further left in the
/// same row.
bool isReadAfter(const QRect& one, const QRect& other) {
    if (other.bottom() < one.top()) return other.left() >= one.right();
    const int common = std::min(one.bottom(), other.bottom()) - std::max(one.top(), other.top());
    const bool isSameRow = common > std::min(one.height(), other.height()) / 2;
    return !isSameRow || other.right() > one.left();
}

/// Each once, in reading order, and Shift+Tab the other way round.
void expectTabReachesAll(QWidget& window, const std::string& where) {
    const std::vector<QWidget*> all = usable(window);
    ASSERT_FALSE(all.empty()) << where;
    window.activateWindow();
    all.front()->setFocus(Qt::TabFocusReason);
    ASSERT_TRUE(QTest::qWaitFor([&] { return QApplication::focusWidget() == all.front(); }, 5'000))
        << where << ": " << nameOf(QApplication::focusWidget()) << " has the focus";
    // the focus scrolls pages
    QMap<const QWidget*, QRect> areas;
    for (const QWidget* each : all)
        areas.insert(each, QRect(each->mapTo(&window, QPoint()), each->size()));
    const std::vector<QWidget*> forward = walk(window, Qt::Key_Tab, Qt::NoModifier);
    for (QWidget* each : usable(window)) {
        EXPECT_EQ(std::count(forward.begin(), forward.end(), each), 1)
            << where << ": " << nameOf(each);
    }
    EXPECT_EQ(forward.size(), usable(window).size()) << where;
    std::vector<QWidget*> stops = forward;
    const auto first = std::find(stops.begin(), stops.end(), tabStops(window).front());
    std::rotate(stops.begin(), first, stops.end());
    for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
        EXPECT_TRUE(isReadAfter(areas[stops[i]], areas[stops[i + 1]]))
            << where << ": from " << nameOf(stops[i]) << " to " << nameOf(stops[i + 1]);
    }
    std::vector<QWidget*> backward = walk(window, Qt::Key_Backtab, Qt::ShiftModifier);
    ASSERT_FALSE(backward.empty());
    std::reverse(backward.begin() + 1, backward.end());
    EXPECT_EQ(backward, forward) << where;
}

class AccessTest : public WindowTest {
protected:
    void showAndSettle(const QString& page) {
        m_window->showPage(page);
        settle();
        ASSERT_TRUE(QTest::qWaitFor([this] { return m_window->isIdle(); }, 10'000));
        QTest::qWait(1);
    }
};

TEST_F(AccessTest, AllThatCanBeUsedHasANameAndARole) {
    openSample();
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        expectNamesAndRoles(*m_window, id.toStdString());
    }
}

TEST_F(AccessTest, TheSameOfARunOnDevices) {
    test::SampleOptions options;
    options.gpu = true;
    openSample(options);
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        expectNamesAndRoles(*m_window, id.toStdString());
    }
}

TEST_F(AccessTest, EveryPictureHasAName) {
    openSample();
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        int pictures = 0;
        for (QWidget* each : m_window->page(id)->findChildren<QWidget*>()) {
            if (!each->isVisible() || each->property("accessibleRole").isNull()) continue;
            QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(each);
            ASSERT_NE(spoken, nullptr);
            if (spoken->role() != QAccessible::Chart) continue;
            EXPECT_FALSE(spoken->text(QAccessible::Name).isEmpty())
                << id.toStdString() << ": " << nameOf(each);
            EXPECT_FALSE(spoken->text(QAccessible::Description).isEmpty())
                << id.toStdString() << ": " << nameOf(each) << " says no figures";
            ++pictures;
        }
        if (id == u"timeline"_s || id == u"memory"_s || id == u"overview"_s) {
            EXPECT_GT(pictures, 1) << id.toStdString();
        }
    }
}

TEST_F(AccessTest, TabReachesAllOfAPageInReadingOrder) {
    openSample();
    for (const QString& id : pageIds()) {
        showAndSettle(id);
        expectTabReachesAll(*m_window, id.toStdString());
    }
}

TEST_F(AccessTest, TabReachesAllWithoutARecording) {
    for (const QString& id : pageIds()) {
        m_window->showPage(id);
        expectNamesAndRoles(*m_window, id.toStdString());
        expectTabReachesAll(*m_window, id.toStdString());
    }
}

TEST_F(AccessTest, DialogsAreNamedAndTabGoesRound) {
    RemoteDialog remote(m_window->loader(), u"ssh://"_s, m_window.get());
    remote.setAttribute(Qt::WA_DeleteOnClose, false);
    CommandPalette palette(m_window->commands(), m_window.get());
    palette.setAttribute(Qt::WA_DeleteOnClose, false);
    for (QDialog* dialog : {static_cast<QDialog*>(&remote), static_cast<QDialog*>(&palette)}) {
        dialog->show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(dialog, 30'000));
        const std::string name = dialog->windowTitle().toStdString();
        expectNamesAndRoles(*dialog, name);
        expectTabReachesAll(*dialog, name);
        dialog->hide();
    }
    KeySheet sheet(m_window->commands(), m_window.get());
    QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&sheet);
    EXPECT_EQ(spoken->role(), QAccessible::Dialog);
    EXPECT_EQ(spoken->text(QAccessible::Name), u"Keys"_s);
}

TEST(ReadingOrder, FollowsTheLayoutNotTheOrderOfMaking) {
    QWidget window;
    auto* last = new QPushButton(u"last"_s, &window);
    auto* right = new QPushButton(u"right"_s, &window);
    auto* left = new QPushButton(u"left"_s, &window);
    auto* hidden = new QPushButton(u"hidden"_s, &window);
    auto* off = new QPushButton(u"off"_s, &window);
    auto* scroll = new QScrollArea(&window);
    auto* within = new QLineEdit;
    scroll->setWidget(within);
    scroll->setFocusPolicy(Qt::NoFocus);
    hidden->hide();
    off->setEnabled(false);
    auto* row = new QHBoxLayout;
    row->addWidget(left);
    row->addWidget(right);
    auto* grid = new QGridLayout;
    auto* second = new QPushButton(u"second"_s, &window);
    auto* first = new QPushButton(u"first"_s, &window);
    grid->addWidget(second, 1, 0);
    grid->addWidget(first, 0, 1);
    auto* all = new QVBoxLayout(&window);
    for (QLayout* each : {static_cast<QLayout*>(row), static_cast<QLayout*>(grid)})
        all->addLayout(each);
    for (QWidget* each : std::initializer_list<QWidget*>{hidden, off, scroll, last})
        all->addWidget(each);
    window.show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, 30'000));
    const std::vector<QWidget*> expected{left, right, first, second, within, last};
    EXPECT_EQ(tabStops(window), expected);
    last->setFocus();
    EXPECT_TRUE(moveFocus(window, true));
    EXPECT_EQ(QApplication::focusWidget(), left);
    EXPECT_TRUE(moveFocus(window, false));
    EXPECT_EQ(QApplication::focusWidget(), last);
}

TEST(ReadingOrder, HasNowhereToGoInAnEmptyWindow) {
    QWidget window;
    EXPECT_TRUE(tabStops(window).empty());
    EXPECT_FALSE(moveFocus(window, true));
    auto* only = new QPushButton(&window);
    window.show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, 30'000));
    only->setFocus();
    EXPECT_FALSE(moveFocus(window, true));
}

}  // namespace
}  // namespace shardscope::desktop
