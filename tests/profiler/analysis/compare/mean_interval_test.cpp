#include "profiler/analysis/compare/mean_interval.h"

#include <gtest/gtest.h>

#include <random>

namespace shardscope::analysis {
namespace {

TEST(MeanInterval, IsStudentsOfAFewValues) {
    const auto found = meanOf({1, 2, 3, 4});
    ASSERT_TRUE(found);
    EXPECT_DOUBLE_EQ(found->mean, 2.5);
    EXPECT_NEAR(*found->deviation, 1.2909944487, 1e-9);
    // 3.1824 x 1.29099 / 2
    EXPECT_NEAR(*found->high - 2.5, 2.05423, 1e-4);
    EXPECT_NEAR(2.5 - *found->low, 2.05423, 1e-4);
    EXPECT_EQ(found->count, 4u);
}

TEST(MeanInterval, HasNoDeviationOfOneValueAndNothingOfNone) {
    const auto one = meanOf({7});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->mean, 7);
    EXPECT_FALSE(one->deviation || one->low || one->high);
    EXPECT_FALSE(meanOf({}));
    EXPECT_FALSE(meanOfRuns({{}, {}}));
}

TEST(MeanInterval, GoesOnBeyondItsTable) {
    EXPECT_NEAR(studentQuantile(1), 12.7062, 1e-4);
    EXPECT_NEAR(studentQuantile(31), 2.0395, 2e-4);
    EXPECT_NEAR(studentQuantile(120), 1.9799, 1e-4);
    EXPECT_NEAR(studentQuantile(1'000'000), 1.95997, 1e-4);
}

TEST(MeanInterval, CountsARunOnceHoweverManyStepsItHas) {
    const std::vector<double> slow(100, 3.0);
    const auto found = meanOfRuns({{1, 1}, slow, {}});
    ASSERT_TRUE(found);
    EXPECT_DOUBLE_EQ(found->mean, 2);
    EXPECT_EQ(found->count, 2u);
    EXPECT_FALSE(found->ofSteps);
}

TEST(MeanInterval, TakesTheStepsOfASingleRun) {
    const auto found = meanOfRuns({{1, 2, 3}});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ofSteps);
    EXPECT_EQ(found->count, 3u);
    EXPECT_DOUBLE_EQ(*found->deviation, 1);
}

TEST(MeanInterval, HoldsTheTruthAsOftenAsItSays) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(10, 2);
    int within = 0;
    constexpr int kTimes = 2000;
    for (int i = 0; i < kTimes; ++i) {
        const auto found = meanOf({normal(random), normal(random), normal(random)});
        within += *found->low <= 10 && 10 <= *found->high ? 1 : 0;
    }
    EXPECT_NEAR(within, 0.95 * kTimes, 0.02 * kTimes);
}

}  // namespace
}  // namespace shardscope::analysis
