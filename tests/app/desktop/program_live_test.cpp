// What Live says and draws of a program: fed by hand, and by a recorder that records a shell
// script.
#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/live_page.h"
#include "app/desktop/pages/live/rank_table.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/newrun/program_tab.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::HasSubstr;

run::StepProgress step(int number, std::optional<double> loss) {
    run::StepProgress step;
    step.step = number;
    step.timeSeconds = number + 1;
    step.stepSeconds = 0.25;
    step.loss = loss;
    return step;
}

TEST(LiveProgramTest, WhatIsNotReportedIsNotDrawn) {
    LiveRun run;
    run.setStatus(u"starting"_s, {});
    run.beginProgram(u"torchrun --nproc-per-node 2 'a b/train.py'"_s, u"x.sscope"_s, 1'000);
    run.setStatus(u"running"_s, {});
    EXPECT_TRUE(run.program().is());
    EXPECT_EQ(run.program().title(), u"torchrun train.py"_s);
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("no rank yet"));
    EXPECT_TRUE(run.program().memorySeries(0).front().points.isEmpty());
    run.setProgramFigures({3, Bytes{std::int64_t{2} << 30}, 1.5}, 3'000);
    const auto memory = run.program().memorySeries(0).front().points;
    ASSERT_EQ(memory.size(), 1);
    EXPECT_EQ(memory.front(), QPointF(2, 2048));
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("3 processes"));
    run.setRank(1, u"running"_s, 12);
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("1 rank, no step has ended yet"));
    run.addStep(step(0, {}));
    EXPECT_TRUE(run.program().lossSeries(0).front().points.isEmpty()) << "unknown is not zero";
    EXPECT_EQ(run.program().stepTimeSeries(0).front().points.front(), QPointF(1, 250));
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("1 step done"));
    EXPECT_EQ(run.headline().contains(u"loss"_s), false);
    run.addStep(step(1, 5.5));
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("loss 5.5"));
    run.setStatus(u"failed"_s, u"the program ended with status 3"_s);
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("2 steps done"));
    run.clear();
    EXPECT_FALSE(run.program().is());
}

TEST(LiveProgramTest, AProgramThatEndsWithoutAStepSaysHow) {
    LiveRun run;
    run.beginProgram(u"sh -c 'exit 3'"_s, {}, 0);
    run.setStatus(u"failed"_s, u"the program ended with status 3"_s);
    EXPECT_EQ(run.headline(), u"The program ended with status 3."_s);
    run.setStatus(u"finished"_s, {});
    EXPECT_THAT(run.headline().toStdString(), HasSubstr("ended without a step"));
}

TEST(LiveProgramTest, RanksAreRowsAsTheyCome) {
    LiveRun run;
    run.beginProgram(u"torchrun train.py"_s, {}, 0);
    run.setRank(3, u"running"_s, 30);
    run.setRank(1, u"running"_s, 10);
    run::RankFigures figures;
    figures.rank = 3;
    figures.step = 4;
    figures.stepSeconds = 0.125;
    figures.stepsCounted = 5;
    figures.residentSet = Bytes{700 << 20};
    figures.cores = 0.75;
    run.setFigures(figures, 0);
    const RankTable table = programRankTable(run.ranks(), false);
    ASSERT_EQ(table.rows.size(), 2U);
    QStringList known, unknown;
    for (const TableCell& cell : table.rows[1]) known << cell.text;
    for (const TableCell& cell : table.rows[0]) unknown << cell.text;
    EXPECT_EQ(known, QStringList({u"3"_s, u"4"_s, u"125\u2009ms"_s, u"700\u2009MiB"_s, u"0.750"_s,
                                  u"30"_s, u"● running"_s}))
        << known.join(u'|').toStdString();
    for (const int column : {1, 2, 3, 4}) {
        EXPECT_EQ(unknown[column], unknownText()) << column;
        EXPECT_FALSE(table.rows[0][static_cast<std::size_t>(column)].tip.isEmpty()) << column;
    }
    EXPECT_EQ(programRankTable(run.ranks(), true).columns.size(), table.columns.size() - 1);
}

class ProgramTabTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"newrun"_s);
        m_page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
        m_page->tabs()->setCurrentIndex(1);
    }
    ProgramTab& tab() { return *m_page->program(); }
    LivePage& live() { return *qobject_cast<LivePage*>(m_window->page(u"live"_s)); }
    QPushButton* button(const QString& text) {
        for (QPushButton* each : tab().findChildren<QPushButton*>())
            if (each->text() == text) return each;
        ADD_FAILURE() << text.toStdString();
        return nullptr;
    }
    /// As a script of a user's.
    QString script(const QByteArray& lines) {
        const QString path = m_folder.filePath(u"job.sh"_s);
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(lines);
        return path;
    }
    void startScript(const QByteArray& lines) {
        m_window->setRecorder(QStringLiteral(SHARDSCOPE_RECORDER));
        tab().folder()->setText(m_folder.path());
        tab().setCommand(u"sh "_s + script(lines));
        ASSERT_EQ(tab().reason(), QString()) << tab().reason().toStdString();
        button(u"Start program"_s)->click();
    }
    bool ends() {
        return QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 60'000);
    }
    bool logs(const QString& text) {
        return QTest::qWaitFor(
            [&] {
                for (const LiveLogLine& line : live().run().log())
                    if (line.text == text) return true;
                return false;
            },
            60'000);
    }
    void keepPictures(const QString& name) {
        for (const bool dark : {false, true})
            for (const QSize size : {QSize(1100, 700), QSize(1440, 900)}) {
                m_window->useTheme(dark);
                m_window->resize(size);
                QTest::qWait(50);
                live().refresh();
                keepPicture(
                    u"%1-%2%3"_s.arg(name).arg(size.width()).arg(dark ? u"-dark"_s : QString()));
            }
        m_window->useTheme(false);
    }

    NewRunPage* m_page = nullptr;
};

TEST_F(ProgramTabTest, SaysWhatIsMissingAndWhatIsWrong) {
    EXPECT_FALSE(button(u"Start program"_s)->isEnabled());
    EXPECT_FALSE(tab().reason().isEmpty());
    tab().setCommand(u"sh -c 'true"_s);
    EXPECT_TRUE(tab().named(program_keys::kCommand)->below().contains(u"is not closed"_s));
    EXPECT_TRUE(tab().command()->property("invalid").toBool());
    EXPECT_EQ(tab().reason(), tab().named(program_keys::kCommand)->below());
    keepPictures(u"program-wrong"_s);
    tab().setCommand(u"sh -c 'true'"_s);
    EXPECT_EQ(tab().named(program_keys::kCommand)->below(), QString());
    EXPECT_TRUE(button(u"Start program"_s)->isEnabled()) << tab().reason().toStdString();
    tab().stepRange()->setText(u"("_s);
    EXPECT_FALSE(button(u"Start program"_s)->isEnabled());
    EXPECT_TRUE(tab().stepRange()->isVisible()) << "its section opens where it is wrong";
    tab().stacks()->setChecked(true);
    keepPictures(u"program-limits"_s);
    tab().stepRange()->clear();
    tab().setBusy(true);
    EXPECT_TRUE(tab().reason().contains(u"A run is going"_s));
}

TEST_F(ProgramTabTest, EachInputHasANameAndIsReachedByTab) {
    for (QWidget* each :
         {static_cast<QWidget*>(tab().command()), static_cast<QWidget*>(tab().folder()),
          static_cast<QWidget*>(tab().environment()), static_cast<QWidget*>(tab().stepRange()),
          static_cast<QWidget*>(tab().stacks()), static_cast<QWidget*>(tab().history())}) {
        EXPECT_FALSE(each->accessibleName().isEmpty()) << each->objectName().toStdString();
        EXPECT_FALSE(each->toolTip().isEmpty()) << each->objectName().toStdString();
        EXPECT_TRUE(each->focusPolicy() & Qt::TabFocus) << each->objectName().toStdString();
    }
    tab().command()->setFocus();
    QTest::keyClick(tab().command(), Qt::Key_Tab);
    EXPECT_TRUE(tab().folder()->hasFocus()) << "Tab leads on, and writes none";
}

TEST_F(ProgramTabTest, TheOtherTabFillsInAndComesBack) {
    m_page->fillIn(run::RunConfig());
    EXPECT_EQ(m_page->tabs()->currentIndex(), 0);
}

#ifdef SHARDSCOPE_RECORDER
TEST_F(ProgramTabTest, LiveFollowsAProgramToItsEnd) {
    startScript("echo from the script; echo to error >&2\n");
    EXPECT_EQ(m_window->currentPage(), u"live"_s);
    ASSERT_TRUE(logs(u"from the script"_s));
    ASSERT_TRUE(logs(u"to error"_s));
    ASSERT_TRUE(ends());
    settle();
    EXPECT_EQ(live().run().program().title(), u"job.sh"_s);
    EXPECT_EQ(live().run().status(), u"finished"_s) << live().run().message().toStdString();
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return m_window->loader().recording() != nullptr; }, 60'000));
    settle();
    const RecordingPtr recording = m_window->loader().recording();
    EXPECT_EQ(recording->title(), u"job.sh"_s);
    EXPECT_TRUE(m_window->windowTitle().contains(u"job.sh"_s))
        << m_window->windowTitle().toStdString();
    EXPECT_EQ(m_window->currentPage(), u"overview"_s);
    keepPictures(u"program-overview"_s);
    for (const QString& page : {u"memory"_s, u"training"_s, u"communication"_s, u"efficiency"_s,
                                u"dashboard"_s, u"problems"_s, u"timeline"_s, u"start"_s}) {
        m_window->showPage(page);
        settle();
    }
}

TEST_F(ProgramTabTest, AProgramThatFailsSaysItsStatusAndStaysOnItsLog) {
    startScript("echo last words; exit 3\n");
    ASSERT_TRUE(ends());
    settle();
    EXPECT_EQ(live().run().status(), u"failed"_s);
    EXPECT_TRUE(live().run().message().contains(u"status 3"_s))
        << live().run().message().toStdString();
    EXPECT_EQ(m_window->currentPage(), u"live"_s);
    keepPictures(u"program-failed"_s);
}

TEST_F(ProgramTabTest, StopIsSigtermAndTheHistoryKeepsTheCommand) {
    startScript("trap 'echo asked; exit 0' TERM\necho ready\nwhile :; do sleep 0.1; done\n");
    ASSERT_TRUE(logs(u"ready"_s));
    ASSERT_TRUE(QTest::qWaitFor(
        [this] { return !live().run().program().processorSeries(0).front().points.isEmpty(); },
        60'000));
    keepPictures(u"program-live"_s);
    m_window->session().stop();
    ASSERT_TRUE(ends());
    EXPECT_EQ(live().run().status(), u"stopped"_s);
    EXPECT_TRUE(logs(u"asked"_s));
    m_window->showPage(u"newrun"_s);
    ASSERT_EQ(tab().history()->count(), 1);
    keepPictures(u"program-history"_s);
    const QString command = tab().settings().command;
    tab().setCommand(u"true"_s);
    QTest::keyClick(tab().history(), Qt::Key_Return);
    EXPECT_EQ(tab().settings().command, command);
    tab().history()->setFocus();
    QTest::keyClick(tab().history(), Qt::Key_Delete);
    EXPECT_EQ(tab().history()->count(), 0);
}

TEST_F(ProgramTabTest, KillEndsWhatIgnoresStop) {
    startScript("trap '' TERM\necho ready\nwhile :; do sleep 0.1; done\n");
    ASSERT_TRUE(logs(u"ready"_s));
    m_window->session().stop();
    EXPECT_TRUE(m_window->session().isGoing());
    m_window->session().kill();
    ASSERT_TRUE(ends());
    EXPECT_EQ(live().run().status(), u"killed"_s);
}

/// For people to look at: a real program, where SHARDSCOPE_TEST_COMMAND has one.
TEST_F(ProgramTabTest, ACommandOfTheEnvironmentIsFollowed) {
    const QString command = qEnvironmentVariable("SHARDSCOPE_TEST_COMMAND");
    if (command.isEmpty()) GTEST_SKIP() << "SHARDSCOPE_TEST_COMMAND names no command";
    m_window->setRecorder(QStringLiteral(SHARDSCOPE_RECORDER));
    tab().setCommand(command);
    ASSERT_EQ(tab().reason(), QString()) << tab().reason().toStdString();
    button(u"Start program"_s)->click();
    ASSERT_TRUE(QTest::qWaitFor([this] { return live().run().stepsDone() > 20; }, 120'000));
    keepPictures(u"program-real"_s);
    ASSERT_TRUE(ends());
    settle();
    EXPECT_EQ(live().run().status(), u"finished"_s) << live().run().message().toStdString();
    keepPictures(u"program-real-overview"_s);
    m_window->showPage(u"start"_s);
    keepPictures(u"program-real-start"_s);
}

TEST_F(ProgramTabTest, AFloodOfLinesIsBounded) {
    startScript("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo the end\n");
    ASSERT_TRUE(ends());
    EXPECT_TRUE(logs(u"the end"_s));
    EXPECT_LE(live().run().log().size(), 50'000U);
}
#endif

}  // namespace
}  // namespace shardscope::desktop
