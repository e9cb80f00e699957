// What Live says of a run: its end in words, its log.
#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/pages/live/rank_table.h"

#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

run::StepProgress step(int index, int steps, std::optional<double> left) {
    run::StepProgress progress;
    progress.step = index;
    progress.steps = steps;
    progress.loss = 5.0 - index;
    progress.secondsLeft = left;
    return progress;
}

TEST(LiveRunTest, SaysNoTimeOnceNothingIsLeft) {
    LiveRun run;
    run.begin(u"tiny"_s, u"zero3"_s, 2, 4, u"run.sscope"_s);
    run.setStatus(u"running"_s, {});
    run.addStep(step(1, 4, 12.0));
    EXPECT_TRUE(run.headline().contains(u"left"_s)) << run.headline().toStdString();
    run.addStep(step(3, 4, 0.0));
    EXPECT_FALSE(run.headline().contains(u"left"_s)) << run.headline().toStdString();
    EXPECT_TRUE(run.headline().contains(u"being finished"_s));
}

TEST(LiveRunTest, RanksOfAKilledRunAreKilledNotFailed) {
    LiveRun run;
    run.begin(u"tiny"_s, u"zero3"_s, 3, 4, {});
    run.setRank(0, u"failed"_s, 10);
    run.setRank(1, u"finished"_s, 11);
    run.setRank(2, u"running"_s, 12);
    run.setStatus(u"killed"_s, u"killed by request"_s);
    EXPECT_EQ(run.ranks().at(0).state, u"killed"_s);
    EXPECT_EQ(run.ranks().at(1).state, u"finished"_s);
    EXPECT_EQ(run.ranks().at(2).state, u"killed"_s);
    run.setRank(0, u"failed"_s, 10);
    run.setStatus(u"failed"_s, u"rank 0 failed"_s);
    EXPECT_EQ(run.ranks().at(0).state, u"failed"_s);
}

TEST(LiveRunTest, TheLogIsFilteredByRankLevelAndText) {
    LiveRun run;
    run.addLog(u"info"_s, u"rank 3: loading data"_s);
    run.addLog(u"warning"_s, u"slow link between hosts"_s);
    run.addLog(u"error"_s, u"rank 12 failed"_s);
    const auto passing = [&run](const LogFilter& filter) {
        int count = 0;
        for (const LiveLogLine& line : run.log()) count += filter.passes(line);
        return count;
    };
    EXPECT_EQ(passing({}), 3);
    EXPECT_EQ(passing({1, {}, {}}), 2);
    EXPECT_EQ(passing({2, {}, {}}), 1);
    EXPECT_EQ(passing({0, 3, {}}), 1);
    EXPECT_EQ(passing({0, 1, {}}), 0) << "rank 12 is not rank 1";
    EXPECT_EQ(passing({0, {}, u"SLOW"_s}), 1);
}

TEST(LiveRunTest, TheLogIsBoundedAndSaysWhatItForgot) {
    LiveRun run;
    for (int i = 0; i < 50'010; ++i) run.addLog(u"info"_s, QString::number(i));
    EXPECT_EQ(run.log().size(), 50'000U);
    EXPECT_EQ(run.forgottenLines(), 10U);
    EXPECT_EQ(run.log().front().text, u"10"_s);
}

run::RankFigures figures(int rank, const char* phase = "forward") {
    run::RankFigures figures;
    figures.rank = rank;
    figures.step = 6;
    figures.phase = phase;
    figures.layer = 3;
    figures.phaseSeconds = 0.01;
    figures.tensors = Bytes{100 << 20};
    figures.residentSet = Bytes{700 << 20};
    figures.tokensPerSecond = 1234.5;
    figures.stepsCounted = 10;
    return figures;
}

QStringList textsOf(const LiveRun& run, int row, std::int64_t nowMs, bool narrow = false) {
    const RankTable table = rankTable(run.ranks(), nowMs, narrow);
    QStringList texts;
    for (const TableCell& cell : table.rows.at(static_cast<std::size_t>(row))) texts << cell.text;
    return texts;
}

LiveRun& withRanks(LiveRun& run) {
    run.begin(u"tiny"_s, u"zero3"_s, 2, 4, {});
    run.setRank(0, u"running"_s, 10);
    run.setRank(1, u"running"_s, 11);
    return run;
}

TEST(RankTableTest, SaysWhatEachRankIsAt) {
    LiveRun run;
    withRanks(run).setFigures(figures(0), 1000);
    const QStringList texts = textsOf(run, 0, 1500);
    EXPECT_EQ(texts, QStringList({u"0"_s, u"● running"_s, u"6"_s, u"1,234"_s, u"100\u2009MiB"_s,
                                  u"700\u2009MiB"_s, u"10"_s, u"forward, block 3"_s}))
        << texts.join(u'|').toStdString();
    EXPECT_EQ(textsOf(run, 0, 1500, true), QStringList({u"0"_s, u"● running"_s, u"6"_s, u"1,234"_s,
                                                        u"100\u2009MiB"_s, u"forward, block 3"_s}));
    run.setRank(0, u"running"_s, 12);
    EXPECT_EQ(textsOf(run, 0, 1500).at(2), u"6"_s) << "a state does not forget the figures";
}

TEST(RankTableTest, WhatIsNotSaidIsUnknownAndNotZero) {
    LiveRun run;
    withRanks(run);
    const auto row = rankTable(run.ranks(), 0, false).rows.at(1);
    for (const std::size_t column : {2U, 3U, 4U, 5U, 7U}) {
        EXPECT_EQ(row.at(column).text, unknownText()) << column;
        EXPECT_FALSE(row.at(column).tip.isEmpty()) << column;
    }
    run::RankFigures early;
    early.rank = 1;
    run.setFigures(early, 0);
    EXPECT_EQ(textsOf(run, 1, 0).back(), u"prepares"_s);
    early.step = 0;
    run.setFigures(early, 0);
    EXPECT_EQ(textsOf(run, 1, 0).back(), u"between phases"_s);
}

TEST(RankTableTest, AWaitSaysHowLongAndForWhat) {
    LiveRun run;
    auto waiting = figures(0, "wait for gather");
    waiting.phaseSeconds = 12;
    waiting.waits = true;
    withRanks(run).setFigures(waiting, 0);
    EXPECT_EQ(textsOf(run, 0, 0).back(), u"waits for gather, block 3, for 12.0\u2009s"_s);
    auto queueing = figures(0, "backward");
    queueing.queues = true;
    run.setFigures(queueing, 0);
    EXPECT_EQ(textsOf(run, 0, 0).back(), u"queues backward, block 3"_s);
    run.setFigures(figures(0, "a phase of tomorrow"), 0);
    EXPECT_EQ(textsOf(run, 0, 0).back(), u"a phase of tomorrow, block 3"_s);
}

TEST(RankTableTest, ARankThatSaysNothingForLongIsSilent) {
    LiveRun run;
    withRanks(run).setFigures(figures(0), 1000);
    EXPECT_EQ(textsOf(run, 0, 1000 + kSilentMs).back(), u"forward, block 3"_s);
    const TableCell silent = phaseCell(run.ranks().at(0), 9500);
    EXPECT_EQ(silent.text, u"silent for 8.00\u2009s"_s) << silent.text.toStdString();
    EXPECT_TRUE(silent.alarms);
    EXPECT_TRUE(silent.tip.contains(u"forward, block 3"_s));
}

TEST(RankTableTest, RanksThatHaveEndedHoldNoMemoryAndSayWhereTheyWere) {
    LiveRun run;
    withRanks(run).setFigures(figures(0, "checkpoint"), 0);
    run.setFigures(figures(1), 0);
    run.setRank(0, u"failed"_s, 10);
    run.setRank(1, u"finished"_s, 11);
    const QStringList failed = textsOf(run, 0, 60'000), finished = textsOf(run, 1, 60'000);
    EXPECT_EQ(failed.at(4), unknownText());
    EXPECT_EQ(failed.back(), u"last: writes a checkpoint, block 3"_s);
    EXPECT_EQ(finished.at(1), u"✓ finished"_s);
    EXPECT_EQ(finished.back(), unknownText());
}

TEST(LiveRunTest, KeepsTheNewestSamples) {
    LiveRun run;
    for (int i = 0; i < 250; ++i) run.addSample(i, QString::number(i));
    EXPECT_EQ(run.samples().size(), 200U);
    EXPECT_EQ(run.samples().back().step, 249);
    run.clear();
    EXPECT_TRUE(run.samples().empty());
}

TEST(LiveRunTest, SmoothedCurvesKeepTheirOwnBehindThem) {
    LiveRun run;
    for (int i = 0; i < 5; ++i) run.addStep(step(i, 9, {}));
    EXPECT_EQ(run.lossSeries().size(), 2U);
    const auto smooth = run.lossSeries(0.9);
    ASSERT_EQ(smooth.size(), 3U);
    EXPECT_TRUE(smooth[0].pale);
    EXPECT_GT(smooth[1].points.back().y(), smooth[0].points.back().y());
}

}  // namespace
}  // namespace shardscope::desktop
