// A run that goes: its recording is the window's, and its ranks say what they are at.
#include "app/desktop/pages/live/live_page.h"
#include "app/desktop/shell/status_line.h"
#include "app/desktop/shell/top_bar.h"
#include "app/desktop/shell/window_runs.h"
#include "tests/app/desktop/window_fixture.h"

#include <QLabel>
#include <QTableView>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class RunningTest : public WindowTest {
protected:
    /// A recorder that writes nothing: `output` is what the test makes of it.
    void startFake(const QString& output) {
        begin(output, "endless");
        ASSERT_TRUE(QTest::qWaitFor([this] { return live().run().hasStep(); }, 60'000));
    }
    void begin(const QString& output, const std::string& how) {
        m_window->setRecorder(QStringLiteral(SHARDSCOPE_FAKE_RECORDER));
        run::RunConfig config;
        config.strategy = run::Strategy::kZero3;
        config.ranks = 2;
        config.data = how;
        config.output = output.toStdString();
        m_window->startRun(config);
    }
    /// At the top, by itself.
    QString title() const { return m_window->findChild<TopBar*>()->findChild<QLabel*>()->text(); }
    LivePage& live() { return *qobject_cast<LivePage*>(m_window->page(u"live"_s)); }
    /// Left and right in the line at the bottom.
    QString said(const QString& name) const {
        for (const QLabel* label : m_window->findChild<StatusLine*>()->findChildren<QLabel*>())
            if (label->accessibleName() == name) return label->text();
        return {};
    }
    QString openPath() const {
        const RecordingPtr recording = m_window->loader().recording();
        return recording ? recording->path : QString();
    }
    bool opens(const QString& path) {
        return QTest::qWaitFor([&] { return openPath() == path; }, 60'000);
    }
    void end() {
        m_window->session().stop();
        ASSERT_TRUE(QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 20'000));
    }
    void keepPictures(const QString& name) {
        if (qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES").isEmpty()) return;
        for (const bool dark : {false, true}) {
            for (const QSize size : {QSize(1024, 640), QSize(1600, 1000)}) {
                m_window->useTheme(dark);
                m_window->resize(size);
                QTest::qWait(1'200);  // rank figures of this width
                live().refresh();
                keepPicture(
                    u"%1-%2%3"_s.arg(name).arg(size.width()).arg(dark ? u"-dark"_s : QString()));
            }
        }
        m_window->useTheme(false);
    }
    QString copyOf(const QString& path, const QString& name) {
        const QString copy = m_folder.filePath(name);
        EXPECT_TRUE(QFile::copy(path, copy));
        return copy;
    }
};

TEST_F(RunningTest, TheRecordingOfARunIsOpenedWhileItGoes) {
    openSample();
    const QString former = openPath();
    const QString output = copyOf(former, u"run.sscope"_s);
    m_window->showPage(u"timeline"_s);
    startFake(output);
    ASSERT_TRUE(opens(output));
    EXPECT_EQ(m_window->currentPage(), u"live"_s) << "whoever watches the run goes on watching";
    EXPECT_TRUE(m_window->windowTitle().contains(u"run"_s))
        << m_window->windowTitle().toStdString();
    end();
    settle();
    EXPECT_EQ(openPath(), output);
}

TEST_F(RunningTest, TheTitleSaysWhatStartsUntilItsRecordingIsOpen) {
    openSample();
    const QString former = title(), window = m_window->windowTitle();
    EXPECT_TRUE(former.startsWith(u"sample.sscope"_s)) << former.toStdString();
    const QString output = m_folder.filePath(u"run.sscope"_s);
    startFake(output);
    EXPECT_EQ(title(), u"Starting shakespeare · zero3 × 2"_s);
    EXPECT_EQ(m_window->windowTitle(), u"Starting shakespeare · zero3 × 2 – Shardscope"_s);
    EXPECT_EQ(said(u"Under the pointer"_s), u"Starting shakespeare · zero3 × 2…"_s);
    EXPECT_EQ(said(u"Facts of the recording"_s), QString()) << "they are of the former";
    m_window->showPage(page_ids::kOverview);
    EXPECT_EQ(title(), former) << "this page is still of that one";
    EXPECT_TRUE(said(u"Facts of the recording"_s).contains(u"events"_s));
    EXPECT_EQ(m_window->windowTitle(), window);
    m_window->showPage(page_ids::kLive);
    EXPECT_EQ(title(), u"Starting shakespeare · zero3 × 2"_s);
    copyOf(openPath(), u"run.sscope"_s);
    ASSERT_TRUE(opens(output));
    settle();
    EXPECT_TRUE(title().startsWith(u"run.sscope"_s)) << title().toStdString();
    EXPECT_TRUE(m_window->windowTitle().startsWith(u"run.sscope"_s));
    end();
}

TEST_F(RunningTest, ARunThatDoesNotStartGivesTheTitleBack) {
    openSample();
    const QString former = title(), window = m_window->windowTitle();
    begin(m_folder.filePath(u"none.sscope"_s), "fail");
    EXPECT_TRUE(title().startsWith(u"Starting"_s)) << title().toStdString();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 20'000));
    EXPECT_EQ(m_window->currentPage(), page_ids::kLive) << "it says why";
    EXPECT_EQ(title(), former);
    EXPECT_EQ(said(u"Under the pointer"_s), openPath());
    EXPECT_TRUE(said(u"Facts of the recording"_s).contains(u"events"_s));
    EXPECT_EQ(m_window->windowTitle(), window);
}

TEST(RunTitle, OfAProgramIsItsName) {
    run::RunConfig config;
    EXPECT_EQ(titleOf(config, {u"--steps"_s, u"2-4"_s, u"--"_s, u"python3"_s, u"train.py"_s}),
              u"train.py"_s);
    config.model.layers += 1;
    config.strategy = run::Strategy::kDdpFlat;
    config.ranks = 3;
    EXPECT_EQ(titleOf(config, {}), u"changed shakespeare · ddp-flat × 3"_s);
}

TEST_F(RunningTest, WhatCannotBeReadYetIsTriedAgainWithoutAWord) {
    const QString sample = writeSample();
    const QString output = m_folder.filePath(u"later.sscope"_s);
    QFile early(output);
    ASSERT_TRUE(early.open(QIODevice::WriteOnly));
    early.write("nothing yet");
    early.close();
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    QSignalSpy vain(&m_window->loader(), &RecordingLoader::triedInVain);
    startFake(output);
    ASSERT_TRUE(vain.wait(60'000));
    ASSERT_TRUE(QFile::remove(output));
    copyOf(sample, u"later.sscope"_s);
    EXPECT_TRUE(opens(output));
    EXPECT_TRUE(failed.isEmpty());
    end();
}

TEST_F(RunningTest, WhatTheUserOpensMeanwhileStays) {
    const QString sample = writeSample();
    const QString output = copyOf(sample, u"run.sscope"_s);
    startFake(output);
    m_window->openFile(sample);
    m_window->showPage(u"overview"_s);
    ASSERT_TRUE(opens(sample));
    QTest::qWait(1'500);  // it would have been opened by now
    EXPECT_EQ(openPath(), sample);
    end();
    settle();
    EXPECT_EQ(openPath(), sample);
    EXPECT_EQ(m_window->currentPage(), u"overview"_s);
}

TEST_F(RunningTest, WhoLooksAtAPageOfTheRunKeepsItAtTheEnd) {
    const QString output = copyOf(writeSample(), u"run.sscope"_s);
    startFake(output);
    ASSERT_TRUE(opens(output));
    settle();
    m_window->showPage(u"timeline"_s);
    end();
    settle();
    EXPECT_EQ(m_window->currentPage(), u"timeline"_s);
    EXPECT_EQ(openPath(), output);
}

TEST_F(RunningTest, ARankThatIsPickedFiltersTheLog) {
    startFake(m_folder.filePath(u"never.sscope"_s));
    live().refresh();
    auto* ranks = live().findChild<QTableView*>();
    ASSERT_NE(ranks, nullptr);
    ASSERT_EQ(ranks->model()->rowCount(), 2);
    ranks->selectRow(1);
    for (int i = 0; i < 5; ++i) QTest::qWait(50);  // steps go on, the choice stays
    live().refresh();
    ASSERT_EQ(ranks->selectionModel()->selectedRows().size(), 1);
    EXPECT_EQ(ranks->selectionModel()->selectedRows().front().row(), 1);
    keepPicture(u"live-ranks"_s);
    end();
}

#ifdef SHARDSCOPE_RECORDER
TEST_F(RunningTest, RanksOfARealRunSayWhatTheyAreAt) {
    m_window->setRecorder(QStringLiteral(SHARDSCOPE_RECORDER));
    run::RunConfig config;
    config.model = {"small test", 256, 64, 2, 2, 64};
    config.ranks = 2;
    config.batch = 2;
    config.steps = 1'000'000;
    config.calibrate = false;
    config.evaluateEvery = 50;
    config.evaluateBatches = 1;
    config.sampleTokens = 8;
    config.prompt = "a";
    const QString output = m_folder.filePath(u"real.sscope"_s);
    config.output = output.toStdString();
    m_window->startRun(config);
    const auto told = [this] {
        const auto& ranks = live().run().ranks();
        return ranks.size() == 2 && std::ranges::all_of(ranks, [](const auto& each) {
                   return each.second.figures && each.second.figures->tokensPerSecond;
               });
    };
    ASSERT_TRUE(QTest::qWaitFor(told, 60'000)) << m_window->session().run().output;
    for (const auto& [number, rank] : live().run().ranks()) {
        const run::RankFigures& figures = *rank.figures;
        EXPECT_GE(figures.step.value_or(-1), 0);
        // a run of so many parameters holds half a MB at least, and no GB
        EXPECT_GT(figures.tensors->count, 500'000);
        EXPECT_LT(figures.tensors->count, std::int64_t{1} << 30);
        EXPECT_GT(figures.residentSet->count, figures.tensors->count);
        EXPECT_LT(figures.residentSet->count, std::int64_t{8} << 30);
        EXPECT_TRUE(std::isfinite(*figures.tokensPerSecond));
        EXPECT_GT(*figures.tokensPerSecond, 1);
        EXPECT_GE(figures.stepsCounted, 1);
        EXPECT_LE(figures.stepsCounted, 10);
    }
    EXPECT_TRUE(opens(output)) << "while it goes on";
    EXPECT_TRUE(m_window->session().isGoing());
    EXPECT_EQ(m_window->currentPage(), u"live"_s);
    EXPECT_TRUE(QTest::qWaitFor([this] { return !live().run().samples().empty(); }, 60'000));
    keepPictures(u"live-real"_s);
    end();
    EXPECT_TRUE(
        QTest::qWaitFor([this] { return m_window->currentPage() == u"overview"_s; }, 60'000));
}
#endif

}  // namespace
}  // namespace shardscope::desktop
