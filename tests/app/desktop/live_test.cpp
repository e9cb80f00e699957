// What Live says of a run: its end in words, its log.
#include "app/desktop/pages/live/live_run.h"

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
