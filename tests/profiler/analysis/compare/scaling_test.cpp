#include "profiler/analysis/compare/scaling.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/word_list_test.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// `ranks` ranks that do `steps` steps of `seconds` with so many tokens each.
RecordingSummary recording(std::int32_t ranks, double seconds, std::int64_t tokensPerRank,
                           std::int32_t steps = 12) {
    RecordingSummary summary;
    summary.run.worldSize = ranks;
    const auto length = static_cast<std::int64_t>(seconds * 1e9);
    for (std::int32_t r = 0; r < ranks; ++r) {
        RankFacts rank;
        rank.rank = {static_cast<std::uint32_t>(r)};
        summary.ranks.push_back(rank);
        for (std::int32_t s = 0; s < steps; ++s) {
            StepFacts step;
            step.rank = rank.rank;
            step.step = {s};
            step.start = {s * length};
            step.end = step.start + Duration{length};
            step.tokens = tokensPerRank;
            summary.steps.push_back(step);
        }
    }
    return summary;
}

ScalingRun runOf(std::int32_t ranks, double seconds, std::int64_t tokensPerRank,
                 std::int32_t steps = 12) {
    return scalingRun(recording(ranks, seconds, tokensPerRank, steps), {});
}

TEST(ScalingRun, IsTheMedianStepOfAllRanks) {
    const ScalingRun run = runOf(4, 0.5, 100);
    EXPECT_THAT(run.missing, IsEmpty());
    EXPECT_EQ(run.ranks, 4);
    EXPECT_EQ(run.tokensPerStep, 400);
    EXPECT_DOUBLE_EQ(run.stepSeconds, 0.5);
    EXPECT_DOUBLE_EQ(run.tokensPerSecond, 800);
    EXPECT_EQ(run.samples.size(), 10u);  // two of warm-up left out
}

TEST(ScalingRun, SaysWhatItLacks) {
    EXPECT_THAT(scalingRun({}, {}).missing, HasSubstr("how many ranks"));
    EXPECT_THAT(runOf(2, 0.5, 100, 0).missing, HasSubstr("no step was finished"));
    EXPECT_THAT(runOf(2, 0.5, 0).missing, HasSubstr("how many tokens"));
    RecordingSummary part = recording(3, 0.5, 100);
    part.ranks.pop_back();
    EXPECT_THAT(scalingRun(part, {}).missing, HasSubstr("2 of 3 ranks"));
}

TEST(Scaling, IsStrongWhereTheGlobalBatchIsTheSame) {
    const Scaling scaling = scalingOf({runOf(4, 0.3, 100), runOf(1, 1, 400), runOf(2, 0.5, 200)});
    EXPECT_EQ(scaling.kind, ScalingKind::kStrong);
    EXPECT_THAT(scaling.efficiencyMissing, IsEmpty());
    ASSERT_EQ(scaling.points.size(), 3u);
    EXPECT_EQ(scaling.points[0].run, 1u);  // by number of ranks
    EXPECT_DOUBLE_EQ(*scaling.points[0].efficiency, 1);
    EXPECT_FALSE(scaling.points[0].serialFraction);
    EXPECT_DOUBLE_EQ(*scaling.points[1].speedup, 2);
    EXPECT_DOUBLE_EQ(*scaling.points[1].efficiency, 1);
    EXPECT_NEAR(*scaling.points[1].serialFraction, 0, 1e-12);
    EXPECT_NEAR(*scaling.points[2].speedup, 1 / 0.3, 1e-9);
    EXPECT_NEAR(*scaling.points[2].efficiency, 1 / 1.2, 1e-9);
}

TEST(Scaling, IsWeakWhereARanksBatchIsTheSame) {
    const Scaling scaling = scalingOf({runOf(1, 1, 100), runOf(8, 1.25, 100)});
    EXPECT_EQ(scaling.kind, ScalingKind::kWeak);
    EXPECT_NEAR(*scaling.points[1].efficiency, 0.8, 1e-9);
    EXPECT_FALSE(scaling.points[1].serialFraction);
}

TEST(Scaling, WithoutAMeasuredRankKnowsRatiosOnly) {
    const Scaling scaling = scalingOf({runOf(2, 1, 100), runOf(4, 1, 100)});
    EXPECT_EQ(scaling.fewest, 2);
    EXPECT_DOUBLE_EQ(*scaling.points[1].speedup, 2);
    EXPECT_FALSE(scaling.points[1].efficiency);
    EXPECT_THAT(scaling.efficiencyMissing, HasSubstr("of one rank"));
}

TEST(Scaling, OfOtherBatchesIsNeither) {
    const Scaling scaling = scalingOf({runOf(1, 1, 100), runOf(2, 1, 70)});
    EXPECT_EQ(scaling.kind, ScalingKind::kUnknown);
    EXPECT_THAT(scaling.kindMissing, HasSubstr("neither"));
    EXPECT_FALSE(scaling.points[1].efficiency);
    EXPECT_DOUBLE_EQ(*scaling.points[1].speedup, 1.4);
}

TEST(Scaling, OfOneNumberOfRanksOrNothingIsNotKnown) {
    EXPECT_THAT(scalingOf({runOf(2, 1, 100), runOf(2, 2, 100)}).kindMissing,
                HasSubstr("different numbers of ranks"));
    EXPECT_THAT(scalingOf({}).kindMissing, HasSubstr("no recording"));
    const Scaling scaling = scalingOf({runOf(1, 1, 100), runOf(2, 1, 0)});
    EXPECT_FALSE(scaling.points[1].speedup);
    EXPECT_TRUE(scaling.points[0].speedup);
}

TEST(Scaling, OfSeveralRunsOfOneRankTakesTheirMedian) {
    const Scaling scaling =
        scalingOf({runOf(1, 1, 100), runOf(1, 2, 100), runOf(1, 4, 100), runOf(2, 2, 100)});
    EXPECT_DOUBLE_EQ(*scaling.points[0].efficiency, 2);
    EXPECT_DOUBLE_EQ(*scaling.points[3].efficiency, 1);
}

/// Amdahl's law with a serial part that is known gives that part back.
TEST(Scaling, FindsTheSerialPart) {
    std::mt19937_64 random(17);
    std::uniform_real_distribution<double> part(0, 1), second(0.01, 5);
    for (int i = 0; i < 300; ++i) {
        const double serial = part(random), one = second(random);
        const auto ranks = static_cast<std::int32_t>(2 + random() % 15);
        const double time = one * (serial + (1 - serial) / ranks);
        const Scaling scaling =
            scalingOf({runOf(1, one, 1000LL * ranks, 4), runOf(ranks, time, 1000, 4)});
        ASSERT_EQ(scaling.kind, ScalingKind::kStrong);
        const ScalingPoint& point = scaling.points[1];
        EXPECT_NEAR(*point.serialFraction, serial, 1e-5);
        EXPECT_NEAR(*point.efficiency * ranks, *point.speedup, 1e-9);
    }
}

/// What does not vary has an interval without width, around the efficiency itself.
TEST(Scaling, SaysHowSureItIs) {
    const Scaling scaling = scalingOf({runOf(1, 1, 100), runOf(2, 1.25, 100)});
    ASSERT_TRUE(scaling.points[1].low && scaling.points[1].high);
    EXPECT_NEAR(*scaling.points[1].low, 0.8, 1e-9);
    EXPECT_NEAR(*scaling.points[1].high, 0.8, 1e-9);
    EXPECT_FALSE(scalingOf({runOf(1, 1, 100, 3), runOf(2, 1, 100, 3)}).points[1].low);
}

}  // namespace
}  // namespace shardscope::analysis

namespace shardscope::test {
namespace {

using Scalings = testing::Types<analysis::ScalingKind>;
INSTANTIATE_TYPED_TEST_SUITE_P(Scalings, WordList, Scalings);

}  // namespace
}  // namespace shardscope::test
