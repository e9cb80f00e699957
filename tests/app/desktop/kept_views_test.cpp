// Stored views, the way back over pages, and going on with what was open last.
#include "app/desktop/models/kept_views.h"

#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/tables/mark_list.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr std::int64_t kLongAgo = 1'700'000'000'123'456'789;  ///< more than a double holds

TEST(KeptViews, AreReadAsTheyWereKept) {
    const QTemporaryDir folder;
    const QString file = folder.filePath(u"desktop.ini"_s);
    const View range{u"timeline"_s, {TimeRange{{kLongAgo}, {kLongAgo + 1}}, {}, {{0}, {7}}}};
    const View steps{u"memory"_s, {{}, StepSpan{{2}, {5}}, {}}};
    EXPECT_FALSE(keptView(file, u"run"_s, 1));
    EXPECT_TRUE(keepView(file, u"run"_s, 1, range));
    EXPECT_TRUE(keepView(file, u"run"_s, 9, steps));
    EXPECT_EQ(keptView(file, u"run"_s, 1), range);
    EXPECT_EQ(keptView(file, u"run"_s, 9), steps);
    EXPECT_FALSE(keptView(file, u"run"_s, 2));
    EXPECT_FALSE(keptView(file, u"/other/run 100%.sscope"_s, 1)) << "views are of one recording";
    EXPECT_TRUE(keepView(file, u"/other/run 100%.sscope"_s, 1, steps));
    EXPECT_EQ(keptView(file, u"/other/run 100%.sscope"_s, 1), steps);
    EXPECT_EQ(keptView(file, u"run"_s, 1), range);
}

TEST(KeptViews, KeepNothingWithoutAFile) {
    EXPECT_FALSE(keepView({}, u"run"_s, 1, {u"memory"_s, {}}));
    EXPECT_FALSE(keptView({}, u"run"_s, 1));
    EXPECT_FALSE(lastSession({}));
    EXPECT_FALSE(keepView(u"/proc/no/such.ini"_s, u"run"_s, 1, {u"memory"_s, {}}));
}

TEST(KeptViews, WhatOthersWroteIsNoView) {
    const QTemporaryDir folder;
    const QString file = folder.filePath(u"desktop.ini"_s);
    const auto read = [&](const QString& text) {
        {
            QSettings settings(file, QSettings::IniFormat);
            settings.setValue(u"views/run/1"_s, text);
        }
        return keptView(file, u"run"_s, 1);
    };
    for (const QString& text : {u"{"_s, u"[]"_s, u"{\"page\":3}"_s, QString()})
        EXPECT_FALSE(read(text)) << text.toStdString();
    EXPECT_EQ(
        read(u"{\"page\":\"memory\",\"range\":[9,3],\"steps\":[5],\"ranks\":[-1,\"x\",3,3]}"_s),
        (View{u"memory"_s, {{}, {}, {{3}}}}));
}

TEST(KeptViews, LoseWhatTheRecordingHasNot) {
    OpenRecording recording;
    recording.summary.bounds = {{0}, {1000}};
    recording.summary.ranks.resize(2);
    recording.summary.ranks[1].rank = {1};
    Selection known{TimeRange{{10}, {20}}, {}, {{1}}};
    EXPECT_FALSE(fitTo(recording, known));
    Selection other{TimeRange{{2000}, {3000}}, {}, {{1}, {5}}};
    EXPECT_TRUE(fitTo(recording, other));
    EXPECT_EQ(other, (Selection{{}, {}, {{1}}}));
    Selection steps{{}, StepSpan{{3}, {4}}, {}};
    EXPECT_TRUE(fitTo(recording, steps));
    EXPECT_TRUE(steps.isEverything());
}

class KeptViewsTest : public WindowTest {
protected:
    void press(int key, Qt::KeyboardModifiers modifiers) {
        QTest::keyClick(m_window.get(), static_cast<Qt::Key>(key), modifiers);
    }
    [[nodiscard]] static bool says(const QWidget& in, const QString& text) {
        for (const auto* label : in.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(text)) return true;
        return false;
    }
    [[nodiscard]] static QPushButton* continuing(const QWidget& in) {
        for (auto* each : in.findChildren<QPushButton*>())
            if (each->text().startsWith(u"Continue with"_s) && !each->isHidden() &&
                each->isVisible())
                return each;
        return nullptr;
    }
    /// The next one of the same user.
    [[nodiscard]] std::unique_ptr<MainWindow> nextWindow() {
        const UserFolders folders{
            m_folder.filePath(u"desktop.ini"_s), m_folder.filePath(u"state/recent.json"_s),
            m_folder.filePath(u"recordings"_s), m_folder.filePath(u"imports"_s)};
        auto window = std::make_unique<MainWindow>(folders, true);
        window->resize(1280, 800);
        window->show();
        EXPECT_TRUE(QTest::qWaitForWindowExposed(window.get()));
        return window;
    }
};

TEST_F(KeptViewsTest, DigitsStoreAndRecallPageAndSelection) {
    openSample();
    m_window->showPage(page_ids::kMemory);
    m_window->selection().selectSteps({{2}, {5}});
    press(Qt::Key_3, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_TRUE(says(*m_window, u"Stored as view 3: Memory · steps 2–5"_s));
    m_window->showPage(page_ids::kTraining);
    m_window->selection().selectRanks({{1}});
    press(Qt::Key_3, Qt::ControlModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kMemory);
    EXPECT_EQ(m_window->selection().current(), (Selection{{}, StepSpan{{2}, {5}}, {}}));
    EXPECT_TRUE(says(*m_window, u"View 3: Memory"_s));
    press(Qt::Key_Left, Qt::AltModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTraining) << "recalling is a step of the way";
    EXPECT_EQ(m_window->selection().current().ranks, std::vector{RankId{1}});
    press(Qt::Key_4, Qt::ControlModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTraining);
    EXPECT_TRUE(says(*m_window, u"has no view 4 yet"_s));
    settle();
}

TEST_F(KeptViewsTest, WithoutARecordingItSaysSo) {
    press(Qt::Key_1, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_TRUE(says(*m_window, u"No recording is open"_s));
    press(Qt::Key_2, Qt::ControlModifier);
    EXPECT_TRUE(says(*m_window, u"No recording is open: views"_s));
}

TEST_F(KeptViewsTest, ViewsAreOfTheRunWhereverItLies) {
    openSample();
    m_window->showPage(page_ids::kOperators);
    settle();
    press(Qt::Key_9, Qt::ControlModifier | Qt::ShiftModifier);
    const QString moved = m_folder.filePath(u"moved.sscope"_s);
    ASSERT_TRUE(QFile::copy(m_window->loader().recording()->path, moved));
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(moved);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    m_window->showPage(page_ids::kOverview);
    press(Qt::Key_9, Qt::ControlModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kOperators);
}

TEST_F(KeptViewsTest, BackLeadsToThePageThatSentOneElsewhere) {
    openSample();
    m_window->showPage(page_ids::kProblems);
    m_window->selection().selectSteps({{1}, {8}});
    settle();
    m_window->selection().show({page_ids::kTimeline, {{}, StepSpan{{4}, {4}}, {{1}}}});
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    press(Qt::Key_Left, Qt::AltModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kProblems);
    EXPECT_EQ(m_window->selection().current().steps, (StepSpan{{1}, {8}}));
    press(Qt::Key_Right, Qt::AltModifier);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    settle();
}

TEST_F(KeptViewsTest, StartOffersToGoOn) {
    EXPECT_EQ(continuing(*m_window), nullptr) << "nothing was open yet";
    openSample();
    m_window->showPage(page_ids::kMemory);
    m_window->selection().selectSteps({{2}, {5}});
    settle();
    m_window->close();
    const auto next = nextWindow();
    EXPECT_EQ(next->currentPage(), page_ids::kStart) << "only where it is asked for";
    EXPECT_FALSE(next->loader().recording());
    QPushButton* button = continuing(*next);
    ASSERT_NE(button, nullptr);
    EXPECT_EQ(button->text(), u"Continue with sample.sscope"_s);
    EXPECT_TRUE(says(*next, u"Memory · steps 2–5"_s));
    QSignalSpy opened(&next->loader(), &RecordingLoader::opened);
    button->click();
    ASSERT_TRUE(opened.wait(10'000));
    EXPECT_EQ(next->currentPage(), page_ids::kMemory);
    EXPECT_EQ(next->selection().current(), (Selection{{}, StepSpan{{2}, {5}}, {}}));
    ASSERT_TRUE(QTest::qWaitFor([&] { return next->isIdle(); }, 10'000));
    next->showPage(page_ids::kStart);
    EXPECT_EQ(continuing(*next), nullptr) << "it is open";
}

TEST_F(KeptViewsTest, AnotherRecordingIsNotPutIntoTheLastView) {
    openSample();
    m_window->selection().selectSteps({{2}, {5}});
    settle();
    m_window->close();
    const auto next = nextWindow();
    ASSERT_NE(continuing(*next), nullptr);
    const QString other = m_folder.filePath(u"other.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(other.toStdString(), {}));
    QSignalSpy opened(&next->loader(), &RecordingLoader::opened);
    continuing(*next)->click();
    next->openFile(other);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return next->isIdle() && next->loader().recording() != nullptr; }, 10'000));
    EXPECT_EQ(next->loader().recording()->path, other);
    EXPECT_TRUE(next->selection().current().isEverything());
}

TEST_F(KeptViewsTest, AFileThatIsGoneIsNotOffered) {
    openSample();
    m_window->close();
    ASSERT_TRUE(QFile::remove(m_window->loader().recording()->path));
    const auto next = nextWindow();
    EXPECT_EQ(continuing(*next), nullptr);
}

using test::IsOk;
using ::testing::ElementsAre;

const Marks kMarks{{{100}, u"first stall"_s, u"rank 3 is late\nagain"_s}, {{250}, u"mark 1"_s, {}}};

class MarkFileTest : public ::testing::Test {
protected:
    MarkFile file() const {
        return {m_folder.filePath(u"run.sscope"_s), m_folder.filePath(u"user/marks"_s)};
    }
    QTemporaryDir m_folder;
};

TEST(Marks, AreJumpedToLikeFailuresAndSlowStretches) {
    OpenRecording recording;
    recording.summary.diagnostics.push_back(
        {Severity::kProblem, "rank-died", "rank 1 ended", "", {}, Timestamp{300}, 1});
    analysis::RunFinding& slow = recording.report.findings.emplace_back();
    slow.code = "slow-stretch";
    slow.title = "Steps 8 to 13 take 1.6 x as long as the rest";
    slow.range = TimeRange{{200}, {260}};
    recording.report.findings.emplace_back().code = "late-rank";
    std::vector<std::int64_t> times;
    QStringList texts;
    for (const Landmark& each : landmarks(recording, kMarks)) {
        times.push_back(each.time.ns);
        texts << each.text;
    }
    EXPECT_THAT(times, ElementsAre(100, 200, 250, 300));
    EXPECT_TRUE(texts[1].contains(u"Steps 8 to 13 take 1.6 x as long"_s)) << texts[1].toStdString();
}

TEST(Marks, LieByTime) {
    Marks marks;
    EXPECT_EQ(addMark(marks, {{20}, u"b"_s, {}}), 0U);
    EXPECT_EQ(addMark(marks, {{10}, u"a"_s, {}}), 0U);
    EXPECT_EQ(addMark(marks, {{20}, u"c"_s, {}}), 1U);
    ASSERT_EQ(marks.size(), 2U);
    EXPECT_EQ(marks[1].name, u"b"_s);
}

TEST(Marks, GetANameThatIsNotTaken) {
    EXPECT_EQ(newMarkName({}), u"mark 1"_s);
    EXPECT_EQ(newMarkName(kMarks), u"mark 2"_s);
}

TEST_F(MarkFileTest, KeepsMarksBesideTheRecording) {
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    EXPECT_TRUE(QFile::exists(m_folder.filePath(u"run.sscope.marks"_s)));
    EXPECT_EQ(file().load(u"run"_s), kMarks);
    EXPECT_TRUE(file().load(u"another run"_s).empty());
    ASSERT_THAT(file().save(u"run"_s, {}), IsOk());
    EXPECT_FALSE(QFile::exists(m_folder.filePath(u"run.sscope.marks"_s)));
}

TEST_F(MarkFileTest, KeepsThemAtTheUsersWhereItCannot) {
    // what is in the way is not ours to replace
    ASSERT_TRUE(QDir(m_folder.path()).mkdir(u"run.sscope.marks"_s));
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    EXPECT_TRUE(QFile::exists(file().inUserFolder()));
    EXPECT_EQ(file().load(u"run"_s), kMarks);
}

TEST_F(MarkFileTest, WritesThroughNoLink) {
    QFile other(m_folder.filePath(u"other"_s));
    ASSERT_TRUE(other.open(QIODevice::WriteOnly));
    other.write("mine");
    other.close();
    ASSERT_TRUE(other.link(m_folder.filePath(u"run.sscope.marks"_s)));
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    ASSERT_TRUE(other.open(QIODevice::ReadOnly));
    EXPECT_EQ(other.readAll(), "mine");
    EXPECT_EQ(file().load(u"run"_s), kMarks);
}

TEST(MarkFile, OfAnotherHostIsTheUsers) {
    const MarkFile file(u"ssh://node1/data/run.sscope"_s, u"marks"_s);
    EXPECT_TRUE(file.beside().isEmpty());
}

TEST(MarkJson, OfDamagedTextThereIsNone) {
    EXPECT_TRUE(marksFromJson("{\"version\":1,", u"run"_s).empty());
    EXPECT_TRUE(marksFromJson("[]", u"run"_s).empty());
    EXPECT_TRUE(
        marksFromJson(marksToJson(u"run"_s, kMarks).replace("\"version\": 1", "\"version\": 9"),
                      u"run"_s)
            .empty());
}

class MarkPageTest : public WindowTest {
protected:
    void open() {
        openSample();
        m_window->showPage(page_ids::kTimeline);
        settle();
        m_page = m_window->findChild<TimelinePage*>();
    }
    TimelinePage* m_page = nullptr;
};

TEST_F(MarkPageTest, MarksAreNamedKeptAndFoundAgain) {
    open();
    TimelineCanvas& canvas = m_page->canvas();
    QTest::keyClick(&canvas, Qt::Key_M);
    settle();
    ASSERT_EQ(canvas.marks().size(), 1U);
    EXPECT_EQ(canvas.marks()[0].name, u"mark 1"_s);
    m_page->tables().showTab(TableTab::kMarks);
    TableModel* table = m_page->tables().table().table();
    ASSERT_TRUE(table->setData(table->index(0, 0), u"here it stalls"_s, Qt::EditRole));
    QTest::qWait(1);
    settle();
    EXPECT_EQ(canvas.marks()[0].name, u"here it stalls"_s);
    keepPicture(u"marks"_s);
    for (int i = 0; i < 3; ++i) QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_EQ(canvas.marks().size(), 1U) << "Esc does not delete marks";
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(m_folder.filePath(u"sample.sscope"_s));
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    const MarkFile file(m_folder.filePath(u"sample.sscope"_s), userMarkFolder());
    EXPECT_TRUE(QFile::exists(file.beside()));
    ASSERT_EQ(canvas.marks().size(), 1U);
    EXPECT_EQ(canvas.marks()[0].name, u"here it stalls"_s);
    m_page->findChild<MarkList*>()->remove(0);
    settle();
    EXPECT_TRUE(canvas.marks().empty());
    EXPECT_FALSE(QFile::exists(file.beside()));
}

}  // namespace
}  // namespace shardscope::desktop
