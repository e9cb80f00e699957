#include "app/cli/record/step_tally.h"

#include "storage/model/step_facts.h"

#include <gtest/gtest.h>

namespace shardscope::cli {
namespace {

run::StepDone done(std::int32_t step, std::uint32_t rank, std::int64_t memory) {
    run::StepDone done;
    done.step.rank = RankId{rank};
    done.step.step = StepIndex{step};
    done.step.start = Timestamp{step * 1000};
    done.step.end = Timestamp{step * 1000 + 1000};
    done.memoryInUse = Bytes{memory};
    done.exposedCommunication = Duration{rank == 0 ? 100 : 300};
    return done;
}

MetricPoint metric(const char* name, std::int32_t step, double value) {
    return {name, StepIndex{step}, Timestamp{}, value};
}

TEST(StepTally, WaitsForEveryRankAndTheMetrics) {
    StepTally tally(2, 10);
    tally.add(metric("loss", 0, 4.5));
    tally.add(done(0, 0, 10));
    EXPECT_TRUE(tally.take().empty());
    tally.add(done(0, 1, 30));
    EXPECT_TRUE(tally.take().empty()) << "tokens/s is still to come";
    tally.add(metric("tokens_per_s", 0, 99));
    const auto steps = tally.take();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].loss, 4.5);
    EXPECT_EQ(steps[0].tokensPerSecond, 99);
    EXPECT_EQ(steps[0].memory->count, 30) << "of the rank that holds most";
    EXPECT_DOUBLE_EQ(*steps[0].blockedFraction, 0.2);
    EXPECT_TRUE(tally.take().empty());
}

TEST(StepTally, GivesAStepWithoutMetricsOutWhenALaterOneIsDone) {
    StepTally tally(1, 10);
    tally.add(done(0, 0, 1));
    EXPECT_TRUE(tally.take().empty());
    tally.add(done(1, 0, 1));
    const auto steps = tally.take();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_FALSE(steps[0].loss.has_value());
}

TEST(StepTally, ALateOrForeignMetricHoldsNothingUp) {
    StepTally tally(1, 10);
    for (std::int32_t step = 0; step < 3; ++step) {
        tally.add(done(step, 0, 1));
        tally.add(metric("loss", step, 4));
        tally.add(metric("tokens_per_s", step, 9));
        EXPECT_EQ(tally.take().size(), 1u) << step;
        tally.add(metric("gradient_norm", step, 1));
        tally.add(metric("validation_perplexity", step, 30));
        EXPECT_TRUE(tally.take().empty());
    }
    EXPECT_EQ(tally.stepsDone(), 3);
}

/// Its metrics come behind a validation pass.
TEST(StepTally, WaitsForTheMetricsOfTheLastStepToo) {
    StepTally tally(1, 1);
    tally.add(done(0, 0, 1));
    EXPECT_TRUE(tally.take().empty());
    tally.add(metric("loss", 0, 4));
    tally.add(metric("tokens_per_s", 0, 9));
    const auto steps = tally.take();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].loss, 4);
    EXPECT_TRUE(tally.takeRest().empty());
}

TEST(StepTally, GivesWhatHasNoMetricsOutAtTheEnd) {
    StepTally tally(1, 1);
    tally.add(done(0, 0, 1));
    EXPECT_EQ(tally.takeRest().size(), 1u);
    EXPECT_EQ(tally.stepsDone(), 1);
}

TEST(StepTally, FindsTheTimeLeftFromTheStepsSoFar) {
    StepTally tally(1, 10);
    for (int step = 0; step < 4; ++step) {
        tally.add(metric("loss", step, 1));
        tally.add(metric("tokens_per_s", step, 1));
        tally.add(done(step, 0, 1));
    }
    EXPECT_DOUBLE_EQ(*tally.take().back().secondsLeft, 6e-6);
}

TEST(StepTally, CountsTheStepsOfThisRunOnly) {
    StepTally tally(1, 14);
    for (std::int32_t step = 10; step < 14; ++step) tally.add(done(step, 0, 1));
    EXPECT_EQ(tally.take().size(), 3u);
    EXPECT_EQ(tally.takeRest().size(), 1u);
    EXPECT_EQ(tally.stepsDone(), 4);
}

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

/// What `take()` gives out, as step numbers.
std::vector<std::int32_t> taken(StepTally& tally) {
    std::vector<std::int32_t> steps;
    for (const StepProgress& each : tally.take()) steps.push_back(each.step);
    return steps;
}

TEST(StepTally, RanksOfAProgramComeAndGo) {
    StepTally tally(0, 0);
    for (const std::int32_t step : {0, 1, 2}) tally.add(done(step, 0, 0));
    EXPECT_EQ(taken(tally), (std::vector<std::int32_t>{0, 1}));
    tally.add(done(0, 1, 0));
    tally.add(done(1, 1, 0));
    EXPECT_TRUE(taken(tally).empty()) << "no step is given out twice";
    tally.add(done(2, 1, 0));
    tally.add(done(3, 0, 0));
    EXPECT_EQ(taken(tally), (std::vector<std::int32_t>{2}));
    // Rank 1 does none any more.
    for (const std::int32_t step : {4, 5, 6, 7, 8}) tally.add(done(step, 0, 0));
    EXPECT_EQ(taken(tally).front(), 3);
    for (const std::int32_t step : {9, 10, 11}) tally.add(done(step, 0, 0));
    EXPECT_FALSE(taken(tally).empty());
}

TEST(StepTally, SaysOfAProgramOnlyWhatIsKnown) {
    StepTally tally(0, 0);
    tally.add(metric("loss", kNoStep.value, 1));
    tally.add(done(0, 0, 0));
    tally.add(done(1, 0, 0));
    const auto steps = tally.take();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_FALSE(steps[0].memory || steps[0].blockedFraction || steps[0].loss ||
                 steps[0].secondsLeft);
    EXPECT_DOUBLE_EQ(steps[0].stepSeconds.value_or(0), 1e-6);
}

TEST(RankPace, ATokenThatWasNotCountedIsUnknown) {
    RankPace pace;
    StepFacts step;
    step.start = Timestamp{0};
    step.end = Timestamp{500'000'000};
    pace.add(step);
    run::RankActivity activity;
    activity.residentSet = Bytes{4096};
    activity.cores = 1.5;
    const auto figures = pace.figures(RankId{0}, activity);
    EXPECT_FALSE(figures.tokensPerSecond || figures.tensors);
    EXPECT_EQ(figures.stepSeconds, 0.5);
    EXPECT_EQ(figures.cores, 1.5);
    EXPECT_EQ(figures.residentSet->count, 4096);
}

}  // namespace
}  // namespace shardscope::cli
