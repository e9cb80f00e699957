// Verdicts between two runs whose truth is known: what was simulated decides, not the program.
#include "profiler/analysis/compare/difference.h"

#include "profiler/analysis/compare/mean_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shardscope::analysis {
namespace {

/// Steps as shared machines give them: each resembles the one before, some are much longer.
std::vector<double> stepTimes(std::size_t count, double seconds, std::mt19937_64& random) {
    constexpr double kDeviation = 0.02, kAlike = 0.4, kHiccups = 0.04;
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<double> times;
    double noise = kDeviation * normal(random);
    for (std::size_t i = 0; i < count; ++i) {
        noise = kAlike * noise + std::sqrt(1 - kAlike * kAlike) * kDeviation * normal(random);
        const double hiccup = uniform(random) < kHiccups ? 1.1 + 0.5 * uniform(random) : 1;
        times.push_back(seconds * std::exp(noise) * hiccup);
    }
    return times;
}

/// 200 pairs of 30 steps: half do not differ, a quarter each is 5 % slower and faster.
TEST(Difference, IsRightOnTwoHundredSimulatedPairs) {
    std::mt19937_64 random(2026);
    int falseAlarms = 0, found = 0, wrongWay = 0;
    for (int pair = 0; pair < 200; ++pair) {
        const double change = pair % 2 == 0 ? 0 : pair % 4 == 1 ? 0.05 : -0.05;
        const auto first = stepTimes(30, 0.1, random);
        const auto second = stepTimes(30, 0.1 * (1 + change), random);
        const Verdict verdict = differenceOf(first, second, Better::kLower).verdict;
        const bool named = verdict == Verdict::kImproved || verdict == Verdict::kRegressed;
        const Verdict truth = change > 0 ? Verdict::kRegressed : Verdict::kImproved;
        falseAlarms += change == 0 && named;
        found += change != 0 && verdict == truth;
        wrongWay += change != 0 && named && verdict != truth;
    }
    EXPECT_LE(falseAlarms, 2);  // of 100
    EXPECT_GE(found, 80);       // of 100
    EXPECT_EQ(wrongWay, 0);
}

TEST(Difference, OfARunWithItselfIsNone) {
    std::mt19937_64 random(1);
    const auto times = stepTimes(30, 0.1, random);
    const Difference same = differenceOf(times, times, Better::kLower);
    EXPECT_EQ(same.change, 0);
    EXPECT_EQ(same.verdict, Verdict::kNoChange);
    EXPECT_LT(*same.low, 0);
    EXPECT_GT(*same.high, 0);
}

TEST(Difference, KnowsWhichWayIsBetter) {
    std::mt19937_64 random(2);
    const auto less = stepTimes(30, 0.1, random), more = stepTimes(30, 0.2, random);
    EXPECT_EQ(differenceOf(less, more, Better::kLower).verdict, Verdict::kRegressed);
    EXPECT_EQ(differenceOf(less, more, Better::kHigher).verdict, Verdict::kImproved);
    EXPECT_EQ(differenceOf(more, less, Better::kLower).verdict, Verdict::kImproved);
}

TEST(Difference, CannotBeToldOfFewOrWildSteps) {
    std::mt19937_64 random(3);
    const auto few = stepTimes(kLeastSamples - 1, 0.1, random);
    const Difference told = differenceOf(few, few, Better::kLower);
    EXPECT_EQ(told.verdict, Verdict::kUnknown);
    EXPECT_EQ(told.change, 0);
    EXPECT_FALSE(told.low);
    const std::vector<double> wild{1, 9, 2, 8, 3, 7, 1, 9, 2, 8};
    EXPECT_EQ(differenceOf(wild, wild, Better::kLower).verdict, Verdict::kUnknown);
    EXPECT_EQ(differenceOf({}, wild, Better::kLower).verdict, Verdict::kUnknown);
}

TEST(Difference, OfNothingAtAllIsNone) {
    const std::vector<double> zeros(20, 0.0), ones(20, 1.0);
    EXPECT_EQ(differenceOf(zeros, zeros, Better::kLower).verdict, Verdict::kNoChange);
    const Difference appeared = differenceOf(zeros, ones, Better::kLower);
    EXPECT_FALSE(appeared.change);
    EXPECT_EQ(appeared.verdict, Verdict::kUnknown);
}

TEST(Difference, IsAlwaysTheSame) {
    std::mt19937_64 random(4);
    const auto first = stepTimes(50, 0.1, random), second = stepTimes(40, 0.11, random);
    const Difference one = differenceOf(first, second, Better::kLower);
    const Difference other = differenceOf(first, second, Better::kLower);
    EXPECT_EQ(one.low, other.low);
    EXPECT_EQ(one.high, other.high);
}

TEST(Difference, OfALongRunIsAsSure) {
    std::mt19937_64 random(5);
    const Difference told = differenceOf(stepTimes(20'000, 0.1, random),
                                         stepTimes(20'000, 0.102, random), Better::kLower);
    EXPECT_EQ(told.verdict, Verdict::kRegressed);
    EXPECT_NEAR(*told.change, 0.02, 0.005);
    EXPECT_LT(*told.high - *told.low, 0.02);
}

TEST(ExactDifference, IsOneFromOnePercentOn) {
    EXPECT_EQ(exactDifference(1000, 1009, Better::kLower).verdict, Verdict::kNoChange);
    EXPECT_EQ(exactDifference(1000, 1011, Better::kLower).verdict, Verdict::kRegressed);
    EXPECT_EQ(exactDifference(1000, 900, Better::kLower).verdict, Verdict::kImproved);
    EXPECT_EQ(exactDifference(0, 0, Better::kLower).verdict, Verdict::kNoChange);
    EXPECT_EQ(exactDifference(0, 5, Better::kLower).verdict, Verdict::kUnknown);
    EXPECT_EQ(exactDifference(std::nullopt, 5, Better::kLower).verdict, Verdict::kUnknown);
}

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
