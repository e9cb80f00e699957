#include "app/cli/record/step_tally.h"

#include <gtest/gtest.h>

namespace shardscope::cli {
namespace {

StepFacts step(std::uint32_t rank, std::int64_t tokens, std::int64_t durationNs) {
    StepFacts facts;
    facts.rank = RankId{rank};
    facts.tokens = tokens;
    facts.end = Timestamp{durationNs};
    return facts;
}

TEST(RankPace, TellsWhatARankIsAt) {
    const run::RankFigures figures =
        RankPace().figures(RankId{3}, {StepIndex{7}, Phase::kWaitGather, LayerIndex{2},
                                       Duration{1'500'000'000}, true, Bytes{10}, Bytes{20}});
    EXPECT_EQ(figures.rank, 3);
    EXPECT_EQ(figures.step, 7);
    EXPECT_EQ(figures.phase, "wait for gather");
    EXPECT_EQ(figures.layer, 2);
    EXPECT_EQ(figures.phaseSeconds, 1.5);
    EXPECT_TRUE(figures.waits);
    EXPECT_TRUE(figures.queues);
    EXPECT_EQ(figures.tensors, Bytes{10});
    EXPECT_EQ(figures.residentSet, Bytes{20});
}

TEST(RankPace, BeforeTheFirstStepAndBetweenPhasesLittleIsKnown) {
    const run::RankFigures figures = RankPace().figures(RankId{0}, {});
    EXPECT_FALSE(figures.step || figures.layer || figures.phaseSeconds || figures.tokensPerSecond);
    EXPECT_EQ(figures.phase, "");
    EXPECT_FALSE(figures.waits);
    EXPECT_EQ(figures.stepsCounted, 0);
}

TEST(RankPace, CountsTheLastStepsOfEachRankAlone) {
    RankPace pace;
    pace.add(step(0, 1000, 1'000'000'000'000));  // a slow start, forgotten
    for (std::size_t i = 0; i < RankPace::kSteps; ++i) pace.add(step(0, 100, 500'000'000));
    pace.add(step(1, 100, 250'000'000));
    pace.add(step(1, 100, 750'000'000));
    EXPECT_DOUBLE_EQ(*pace.figures(RankId{0}, {}).tokensPerSecond, 200);
    EXPECT_EQ(pace.figures(RankId{0}, {}).stepsCounted, 10);
    EXPECT_DOUBLE_EQ(*pace.figures(RankId{1}, {}).tokensPerSecond, 200);
    EXPECT_EQ(pace.figures(RankId{1}, {}).stepsCounted, 2);
}

TEST(RankPace, StepsWithoutADurationHaveNoSpeed) {
    RankPace pace;
    pace.add(step(0, 100, 0));
    EXPECT_FALSE(pace.figures(RankId{0}, {}).tokensPerSecond);
}

}  // namespace
}  // namespace shardscope::cli
