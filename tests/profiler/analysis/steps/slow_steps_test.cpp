#include "profiler/analysis/steps/slow_steps.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

/// Steps of 100 and 102 ns in turn; step 7 takes `seventh`.
SteadySteps steady(std::size_t count, std::int64_t seventh) {
    SteadySteps steps;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
        const std::int64_t begin = i * 10'000, length = i == 7 ? seventh : 100 + 2 * (i % 2);
        steps.steps[StepIndex{i}].range = {{begin}, {begin + length}};
    }
    return steps;
}

TEST(SlowSteps, AreFarAboveTheMedian) {
    const SlowSteps told = slowSteps(steady(21, 300), {});
    EXPECT_EQ(told.steps, 21u);
    EXPECT_DOUBLE_EQ(told.medianNs, 100);
    ASSERT_EQ(told.slow.size(), 1u);
    EXPECT_EQ(told.slow[0].step, StepIndex{7});
    EXPECT_EQ(told.slow[0].range.duration().ns, 300);
    EXPECT_TRUE(slowSteps(steady(21, 200), {}).slow.empty()) << "twice is not more than twice";
}

TEST(SlowSteps, OfFewStepsAreNotTold) {
    EXPECT_TRUE(slowSteps(steady(kLeastStepsForSpread - 1, 300), {}).slow.empty());
    EXPECT_EQ(slowSteps({}, {}).steps, 0u);
}

TEST(SlowSteps, AreNotThoseThatDoSomethingElse) {
    for (const Phase phase : {Phase::kEvaluation, Phase::kCheckpoint, Phase::kSample}) {
        RankEvents events;
        SpanEvent span;
        span.phase = phase;
        span.step = {7};
        events.phases.push_back(span);
        const SlowSteps told = slowSteps(steady(21, 300), {events});
        EXPECT_EQ(told.steps, 20u);
        EXPECT_TRUE(told.slow.empty());
    }
}

}  // namespace
}  // namespace shardscope::analysis
