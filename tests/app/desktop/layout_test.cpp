// Pages beside each other and in windows of their own, and layouts that are kept.
#include "app/desktop/models/page_layout.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/shell/page_area.h"
#include "app/desktop/shell/rail.h"
#include "app/desktop/widgets/splitter.h"
#include "tests/app/desktop/double_click.h"
#include "tests/app/desktop/window_fixture.h"

#include <QAbstractButton>
#include <QFile>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>
#include <QWindow>
#include <algorithm>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(PageLayout, PresetsNamePagesThatThereAre) {
    const QStringList pages = pageIds();
    ASSERT_EQ(layoutPresets().size(), 3U);
    for (const LayoutPreset& preset : layoutPresets()) {
        EXPECT_TRUE(pages.contains(preset.middle)) << preset.id.toStdString();
        for (const auto& beside : preset.beside) {
            EXPECT_TRUE(pages.contains(beside.page)) << preset.id.toStdString();
            EXPECT_NE(beside.page, preset.middle);
            EXPECT_GT(beside.share, 0);
            EXPECT_LT(beside.share, 1);
        }
    }
    EXPECT_EQ(layoutPreset(u"nothing"_s), nullptr);
}

TEST(PageLayout, IsKeptUnderAnyNameAndForgotten) {
    const QTemporaryDir folder;
    const QString file = folder.filePath(u"settings.ini"_s);
    const PageLayout layout{u"memory"_s,
                            {u"timeline"_s, u"operators"_s},
                            QByteArray("\0\xff\n=;", 5),
                            {{u"live.log"_s, QByteArray("\1\0", 2)}}};
    for (const QString& name : {u"plain"_s, u"a/b\\c = ü;,%"_s, u"Layout 2"_s}) {
        EXPECT_FALSE(keptLayout(file, name));
        ASSERT_TRUE(keepLayout(file, name, layout));
        EXPECT_EQ(keptLayout(file, name), layout) << name.toStdString();
    }
    EXPECT_EQ(keptLayoutNames(file), (QStringList{u"a/b\\c = ü;,%"_s, u"Layout 2"_s, u"plain"_s}));
    const PageLayout other{u"start"_s, {}, QByteArray("x"), {}};
    ASSERT_TRUE(keepLayout(file, u"plain"_s, other));
    EXPECT_EQ(keptLayout(file, u"plain"_s), other) << "nothing of the one before is left";
    forgetLayout(file, u"plain"_s);
    EXPECT_FALSE(keptLayout(file, u"plain"_s));
    EXPECT_EQ(keptLayoutNames(file).size(), 2);
    EXPECT_FALSE(lastLayout(file));
    keepLastLayout(file, layout);
    EXPECT_EQ(lastLayout(file), layout);
}

TEST(PageLayout, WithoutAFileNothingIsKept) {
    EXPECT_FALSE(keepLayout({}, u"a"_s, {}));
    EXPECT_FALSE(keptLayout({}, u"a"_s));
    EXPECT_TRUE(keptLayoutNames({}).isEmpty());
    EXPECT_FALSE(keepLayout(u"/proc/no/such.ini"_s, u"a"_s, {}));
}

class LayoutTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->resize(1600, 1000);
        openSample();
    }
    PageArea& area() { return m_window->area(); }
    PageDock* dock(const QString& id) { return area().findChild<PageDock*>(u"dock."_s + id); }
    /// In whichever window is active.
    void press(const QString& keys) {
        if (QApplication::activeWindow() == nullptr) m_window->activateWindow();  // after a menu
        ASSERT_TRUE(QTest::qWaitFor([] { return QApplication::activeWindow() != nullptr; }));
        const QKeyCombination key = QKeySequence(keys)[0];
        QTest::keyClick(QApplication::activeWindow(), key.key(), key.keyboardModifiers());
        settle();
    }
};

TEST_F(LayoutTest, APageIsTakenOutShownAndPutBack) {
    m_window->showPage(page_ids::kMemory);
    m_window->showPage(page_ids::kTimeline);
    area().move(page_ids::kTimeline, PagePlace::kRight);
    settle();
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kRight);
    EXPECT_EQ(area().apart(), QStringList{page_ids::kTimeline});
    EXPECT_TRUE(area().isSeen(page_ids::kTimeline));
    EXPECT_TRUE(area().isSeen(page_ids::kMemory)) << "the one before takes the middle";
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    keepPicture(u"layout_right"_s);
    m_window->showPage(page_ids::kOverview);
    EXPECT_TRUE(area().isSeen(page_ids::kTimeline));
    EXPECT_FALSE(area().isSeen(page_ids::kMemory));
    area().move(page_ids::kTimeline, PagePlace::kBelow);
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kBelow);
    area().move(page_ids::kTimeline, PagePlace::kWindow);
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kWindow);
    EXPECT_TRUE(dock(page_ids::kTimeline)->isWindow());
    EXPECT_TRUE(dock(page_ids::kTimeline)->windowTitle().contains(u"sample"_s))
        << "a separate window names its page";
    dock(page_ids::kTimeline)->close();
    QTest::qWait(1);
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kMiddle);
    EXPECT_TRUE(area().isSeen(page_ids::kTimeline));
    EXPECT_TRUE(area().apart().isEmpty());
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    EXPECT_EQ(dock(page_ids::kTimeline), nullptr);
}

TEST_F(LayoutTest, TheLastPageOfTheMiddleStaysThere) {
    for (const QString& id : pageIds()) area().move(id, PagePlace::kRight);
    settle();
    EXPECT_EQ(area().apart().size(), pageIds().size() - 1);
    area().putAllBack();
    EXPECT_TRUE(area().apart().isEmpty());
    for (const QString& id : pageIds()) {
        m_window->showPage(id);
        settle();
        EXPECT_TRUE(area().isSeen(id)) << id.toStdString();
        EXPECT_EQ(area().seen(), QStringList{id});
    }
}

TEST_F(LayoutTest, OneSelectionIsForAllPagesThatAreSeen) {
    m_window->layouts().apply(*layoutPreset(u"memory"_s));
    settle();
    m_window->selection().selectSteps({StepIndex{2}, StepIndex{3}});
    settle();
    EXPECT_TRUE(m_window->isIdle());
    EXPECT_TRUE(area().isSeen(page_ids::kMemory));
    EXPECT_TRUE(area().isSeen(page_ids::kTimeline));
    keepPicture(u"layout_memory"_s);
}

TEST_F(LayoutTest, TheFocusMakesAPageTheCurrentOne) {
    m_window->layouts().apply(*layoutPreset(u"memory"_s));
    settle();
    EXPECT_EQ(m_window->currentPage(), page_ids::kMemory);
    const bool couldGoBack = m_window->selection().canGoBack();
    m_window->page(page_ids::kTimeline)->setFocus();
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    EXPECT_EQ(m_window->selection().view().page, page_ids::kTimeline);
    EXPECT_EQ(m_window->selection().canGoBack(), couldGoBack) << "it is no step of the way";
    for (auto* button : m_window->findChild<Rail*>()->findChildren<QAbstractButton*>())
        EXPECT_EQ(button->isChecked(), button->objectName() == page_ids::kTimeline);
}

TEST_F(LayoutTest, BackAndForwardFindPagesWhereverTheyAre) {
    m_window->showPage(page_ids::kTimeline);
    area().move(page_ids::kTimeline, PagePlace::kBelow);
    m_window->showPage(page_ids::kTraining);
    m_window->showPage(page_ids::kMemory);
    press(u"Alt+Left"_s);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTraining);
    press(u"Alt+Left"_s);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    EXPECT_TRUE(area().isSeen(page_ids::kTraining)) << "it stays in the middle";
    press(u"Alt+Right"_s);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTraining);
}

TEST_F(LayoutTest, KeysApplyPresetsAndMovePages) {
    for (const LayoutPreset& preset : layoutPresets()) {
        press(preset.key);
        EXPECT_EQ(m_window->currentPage(), preset.middle) << preset.id.toStdString();
        EXPECT_EQ(area().apart().size(), static_cast<qsizetype>(preset.beside.size()));
        for (const auto& beside : preset.beside)
            EXPECT_EQ(area().placeOf(beside.page), beside.place) << "there is room for it";
        keepPicture(u"layout_"_s + preset.id);
    }
    m_window->showPage(page_ids::kTimeline);
    press(u"F5"_s);
    EXPECT_TRUE(area().apart().isEmpty());
    EXPECT_TRUE(area().isSeen(page_ids::kTimeline)) << "what one was on stays in sight";
    m_window->showPage(page_ids::kMemory);
    press(u"F9"_s);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kWindow);
    press(u"Shift+F9"_s);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kRight);
    press(u"Ctrl+F9"_s);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kBelow);
    press(u"Alt+F9"_s);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kMiddle);
}

TEST_F(LayoutTest, NarrowWindowsStackWhatWouldBeBesideEachOther) {
    m_window->resize(1024, 700);
    QTest::qWait(1);
    for (const LayoutPreset& preset : layoutPresets()) {
        m_window->layouts().apply(preset);
        settle();
        for (const auto& beside : preset.beside)
            EXPECT_EQ(area().placeOf(beside.page), PagePlace::kBelow);
        EXPECT_EQ(m_window->size(), QSize(1024, 700)) << "a layout does not make windows larger";
        keepPicture(u"layout_small_"_s + preset.id);
    }
}

TEST_F(LayoutTest, KeysOfTheWindowWorkInAWindowOfItsOwn) {
    m_window->showPage(page_ids::kMemory);
    area().move(page_ids::kMemory, PagePlace::kWindow);
    PageDock* apart = dock(page_ids::kMemory);
    ASSERT_TRUE(QTest::qWaitForWindowActive(apart, 30'000));
    QTest::keyClick(apart, Qt::Key_F9, Qt::AltModifier);
    QTest::qWait(1);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kMiddle);
}

TEST_F(LayoutTest, ALayoutIsStoredRecalledReplacedAndForgotten) {
    area().move(page_ids::kTimeline, PagePlace::kBelow);
    m_window->showPage(page_ids::kTraining);
    m_window->commands().find(u"layout.store"_s)->trigger();
    auto* dialog = m_window->findChild<QInputDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->setTextValue(u"  Mine & yours "_s);
    dialog->accept();
    QAction* recall = m_window->commands().find(u"layout.recall.Mine & yours"_s);
    ASSERT_NE(recall, nullptr);
    press(u"F5"_s);
    EXPECT_TRUE(area().apart().isEmpty());
    recall->trigger();
    settle();
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kBelow);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTraining);
    m_window->layouts().store(u"Mine & yours"_s);
    const auto& all = m_window->commands().all();
    EXPECT_EQ(
        std::count_if(all.begin(), all.end(),
                      [](const Command& each) { return each.name == u"Layout Mine & yours"_s; }),
        1);
    m_window->commands().find(u"layout.forget.Mine & yours"_s)->trigger();
    EXPECT_EQ(m_window->commands().find(u"layout.recall.Mine & yours"_s), nullptr);
    EXPECT_TRUE(keptLayoutNames(m_folder.filePath(u"desktop.ini"_s)).isEmpty());
}

TEST_F(LayoutTest, TheNextWindowTakesUpTheLastLayoutWithTheFirstRecording) {
    area().move(page_ids::kTimeline, PagePlace::kBelow);
    area().move(page_ids::kMemory, PagePlace::kWindow);
    m_window->showPage(page_ids::kTraining);
    m_window->close();
    m_window.reset();
    SetUp();
    EXPECT_EQ(m_window->currentPage(), page_ids::kOverview) << "the middle is what was asked for";
    EXPECT_EQ(area().placeOf(page_ids::kTimeline), PagePlace::kBelow);
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kWindow);
    press(u"F5"_s);
    openSample();
    EXPECT_TRUE(area().apart().isEmpty()) << "once";
}

TEST_F(LayoutTest, TheProgramEndsWithTheWindowThoughAPageHasItsOwn) {
    m_window->showPage(page_ids::kMemory);
    area().move(page_ids::kMemory, PagePlace::kWindow);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(dock(page_ids::kMemory)));
    m_window->close();
    for (const QWindow* window : QGuiApplication::topLevelWindows())
        EXPECT_FALSE(window->isVisible()) << "Qt ends once none is left";
    const auto kept = lastLayout(m_folder.filePath(u"desktop.ini"_s));
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->apart, QStringList{page_ids::kMemory});
}

TEST_F(LayoutTest, ABrokenLayoutLeavesAllPagesWithinReach) {
    area().apply(PageLayout{u"nopage"_s,
                            {u"timeline"_s, u"nopage"_s, u"timeline"_s, u"memory"_s},
                            QByteArray("garbage"),
                            {{u"live.log"_s, QByteArray("garbage")}}});
    settle();
    EXPECT_EQ(area().apart(), (QStringList{u"timeline"_s, u"memory"_s}));
    for (const QString& id : pageIds()) {
        m_window->showPage(id);
        EXPECT_TRUE(area().isSeen(id)) << id.toStdString();
    }
}

TEST_F(LayoutTest, DividersMoveByKeysAndAreKept) {
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto* divider = m_window->findChild<Splitter*>(u"timeline.tables"_s);
    ASSERT_NE(divider, nullptr);
    const QList<int> preferred = divider->sizes();
    EXPECT_FALSE(divider->isMoved());
    divider->handle(1)->setFocus();
    for (int i = 0; i < 5; ++i) QTest::keyClick(divider->handle(1), Qt::Key_Up);
    EXPECT_EQ(divider->sizes()[1], preferred[1] + 80);
    const PageLayout layout = area().pageLayout();
    EXPECT_EQ(layout.dividers.keys(), QStringList{u"timeline.tables"_s});
    doubleClick(divider->handle(1));
    EXPECT_EQ(divider->sizes(), preferred);
    area().apply(layout);
    EXPECT_EQ(divider->sizes()[1], preferred[1] + 80);
    m_window->resize(1400, 900);
    QTest::qWait(1);
    EXPECT_TRUE(divider->isMoved()) << "resizing leaves it to the user";
}

TEST_F(LayoutTest, ASlimTimelineMakesRoomForDetailsOnceThereAreSome) {
    m_window->showPage(page_ids::kTimeline);
    area().move(page_ids::kTimeline, PagePlace::kRight, 0.4);
    settle();
    auto* timeline = qobject_cast<TimelinePage*>(m_window->page(page_ids::kTimeline));
    ASSERT_LT(timeline->width(), 760);
    EXPECT_FALSE(timeline->panel().isVisible());
    SliceView slice;
    slice.range = m_window->loader().recording()->bounds();
    slice.count = 1;
    timeline->canvas().selectSlice(timeline->canvas().lanes().loadedLanes().front(), slice);
    EXPECT_TRUE(timeline->panel().isVisible());
    area().putAllBack();
    EXPECT_TRUE(timeline->panel().isVisible()) << "here is room for it";
}

TEST_F(LayoutTest, EveryCommandHasAPlaceInTheMenu) {
    QMenu* menu = commandMenu(m_window->commands(), m_window.get());
    std::multiset<QString> shown;
    for (const QAction* group : menu->actions()) {
        ASSERT_NE(group->menu(), nullptr);
        for (const QAction* action : group->menu()->actions())
            shown.insert(group->text() + u'/' + action->text().section(u'\t', 0, 0));
    }
    std::multiset<QString> wanted;
    for (const Command& command : m_window->commands().all())
        if (command.action != nullptr)
            wanted.insert(QString(command.group + u'/' + command.name).replace(u'&', u"&&"_s));
    EXPECT_EQ(shown, wanted);
    delete menu;
}

TEST_F(LayoutTest, TheMenuOpensAtItsButtonAndRunsWhatIsChosen) {
    press(u"F10"_s);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    EXPECT_TRUE(m_window->geometry().adjusted(0, 0, 8, 8).contains(menu->geometry()));
    QMenu* pages = menu->actions().constFirst()->menu();
    ASSERT_NE(pages, nullptr);
    for (QAction* action : pages->actions())
        if (action->text().startsWith(u"Memory"_s)) action->trigger();
    menu->close();
    settle();
    EXPECT_EQ(m_window->currentPage(), page_ids::kMemory);
}

TEST_F(LayoutTest, TheRailMarksPagesThatAreElsewhereAndMovesThem) {
    auto* rail = m_window->findChild<Rail*>();
    auto* button = rail->findChild<QAbstractButton*>(page_ids::kMemory);
    ASSERT_NE(button, nullptr);
    Q_EMIT button->customContextMenuRequested({4, 4});
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    ASSERT_EQ(menu->actions().size(), 4);
    EXPECT_FALSE(menu->actions()[3]->isEnabled()) << "it is in the middle";
    menu->actions()[1]->trigger();
    menu->close();
    settle();
    EXPECT_EQ(area().placeOf(page_ids::kMemory), PagePlace::kRight);
    EXPECT_FALSE(button->accessibleDescription().isEmpty());
    press(u"F5"_s);
    EXPECT_TRUE(button->accessibleDescription().isEmpty());
}

}  // namespace
}  // namespace shardscope::desktop
