#include "profiler/analysis/compare/observer_effect.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::analysis {
namespace {

using testing::IsEmpty;

/// Steps one after the other; `detail` of the odd ones, which are recorded at level steps.
RecordingSummary alternating(const std::vector<std::int64_t>& lengths, DetailReason reason,
                             std::uint32_t ranks = 1) {
    RecordingSummary summary;
    summary.run.worldSize = static_cast<std::int32_t>(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        RankFacts rank;
        rank.rank = {r};
        summary.ranks.push_back(rank);
        Timestamp at{0};
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            StepFacts step;
            step.rank = rank.rank;
            step.step = {static_cast<std::int32_t>(i)};
            step.start = at;
            step.end = at = at + Duration{lengths[i]};
            summary.steps.push_back(step);
            if (i % 2 == 0) continue;
            DetailFacts detail;
            detail.rank = rank.rank;
            detail.first = detail.last = step.step;
            detail.reason = reason;
            summary.detail.push_back(detail);
        }
    }
    return summary;
}

std::vector<std::int64_t> noisy(int steps, double cost) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> noise(0, 0.003);
    std::vector<std::int64_t> lengths;
    for (int i = 0; i < steps; ++i)
        lengths.push_back(
            static_cast<std::int64_t>(1e6 * (1 + noise(random)) * (i % 2 == 0 ? 1 + cost : 1)));
    return lengths;
}

TEST(ObserverEffect, IsWhatRecordedStepsTakeMore) {
    const auto effects =
        observerEffects(alternating(noisy(200, 0.02), DetailReason::kSchedule, 2), {});
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_EQ(effects[0].level, CaptureLevel::kFull);
    EXPECT_EQ(effects[0].against, CaptureLevel::kSteps);
    EXPECT_EQ(effects[0].steps, 99);
    EXPECT_EQ(effects[0].againstSteps, 99);
    EXPECT_NEAR(*effects[0].difference.change, 0.02, 0.002);
    EXPECT_GT(*effects[0].difference.low, 0.01);
    EXPECT_LT(*effects[0].difference.high, 0.03);
}

TEST(ObserverEffect, OfNoneIsAroundZero) {
    const auto effects = observerEffects(alternating(noisy(200, 0), DetailReason::kRequest), {});
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_LT(*effects[0].difference.low, 0);
    EXPECT_GT(*effects[0].difference.high, 0);
}

/// What was taken out of the file had been recorded.
TEST(ObserverEffect, OfStepsRecordedAlikeIsNotKnown) {
    for (const DetailReason reason :
         {DetailReason::kNotSlow, DetailReason::kMaxSize, DetailReason::kMaxRate})
        EXPECT_THAT(observerEffects(alternating(noisy(40, 0.02), reason), {}), IsEmpty());
    EXPECT_THAT(observerEffects({}, {}), IsEmpty());
    EXPECT_THAT(observerEffects(alternating({1000}, DetailReason::kSchedule), {}), IsEmpty());
}

TEST(ObserverEffect, OfFewStepsHasNoInterval) {
    const auto effects = observerEffects(alternating(noisy(8, 0.02), DetailReason::kSchedule), {});
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_FALSE(effects[0].difference.low);
    EXPECT_EQ(effects[0].difference.verdict, Verdict::kUnknown);
}

TEST(ObserverEffect, LeavesOutStepsWhoseRanksDiffer) {
    RecordingSummary summary = alternating(noisy(40, 0.02), DetailReason::kSchedule, 2);
    std::erase_if(summary.detail, [](const DetailFacts& row) { return row.rank.value == 1; });
    EXPECT_THAT(observerEffects(summary, {}), IsEmpty());  // the other half is all of one level
}

}  // namespace
}  // namespace shardscope::analysis
