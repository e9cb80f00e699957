#include "profiler/analysis/steps/training_health.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

namespace shardscope::analysis {
namespace {

using testing::IsEmpty;

RecordingSummary training(const std::vector<double>& losses, std::int32_t firstStep = 0) {
    RecordingSummary summary;
    for (const double loss : losses) summary.metrics.push_back({"loss", {firstStep++}, {}, loss});
    return summary;
}

std::vector<double> falling(std::size_t steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<double> losses;
    for (std::size_t i = 0; i < steps; ++i)
        losses.push_back(2 + 3 * std::exp(-0.05 * static_cast<double>(i)) + noise(random));
    return losses;
}

TEST(LossCurves, OfOneTrainingAreEqualToTheLastDigit) {
    const auto losses = falling(40, 1);
    const LossCurves curves = lossCurves(training(losses), training(losses));
    EXPECT_EQ(curves.steps.size(), 40u);
    EXPECT_FALSE(curves.differs);
    EXPECT_FALSE(curves.apart);
    EXPECT_EQ(curves.largest, 0);
}

TEST(LossCurves, DifferAtOnceAndLaterBeyondNoise) {
    const auto first = falling(60, 1);
    auto second = first;
    for (std::size_t i = 5; i < second.size(); ++i) second[i] += 1e-7;
    for (std::size_t i = 30; i < second.size(); ++i) second[i] += 0.5;
    const LossCurves curves = lossCurves(training(first), training(second));
    EXPECT_EQ(curves.differs, StepIndex{5});
    EXPECT_EQ(curves.apart, StepIndex{30});
    EXPECT_NEAR(curves.largest, 0.5, 1e-6);
    // The trend counts as noise too.
    EXPECT_GT(*curves.noise, 0.02);
    EXPECT_LT(*curves.noise, 0.1);
}

TEST(LossCurves, OfAnotherSeedStayWithinNoise) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const LossCurves curves =
            lossCurves(training(falling(40, seed)), training(falling(40, seed + 100)));
        EXPECT_EQ(curves.differs, StepIndex{0});
        EXPECT_FALSE(curves.apart) << "seed " << seed;
    }
}

TEST(LossCurves, AreOfStepsThatBothHave) {
    const LossCurves curves = lossCurves(training({1, 2, 3, 4}), training({3, 5, 9}, 2));
    ASSERT_EQ(curves.steps.size(), 2u);
    EXPECT_EQ(curves.steps[0].step, StepIndex{2});
    EXPECT_DOUBLE_EQ(*curves.steps[1].difference(), 1);
    EXPECT_FALSE(curves.noise);
    EXPECT_EQ(curves.differs, StepIndex{3});
    EXPECT_FALSE(curves.apart);
    EXPECT_THAT(lossCurves(training({1}), training({})).steps, IsEmpty());
}

TEST(LossCurves, OfAStepDoneTwiceTakeTheLastWord) {
    RecordingSummary twice = training({1, 2});
    twice.metrics.push_back({"loss", {1}, {}, 7});
    EXPECT_DOUBLE_EQ(*lossCurves(twice, twice).steps.at(1).first, 7);
}

TEST(LossCurves, HoldNoNumbersThatAreNone) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto losses = falling(20, 1);
    auto broken = losses, both = losses;
    broken[4] = none;
    both[4] = std::numeric_limits<double>::infinity();
    const LossCurves curves = lossCurves(training(losses), training(broken));
    EXPECT_FALSE(curves.steps[4].second);
    EXPECT_FALSE(curves.steps[4].difference());
    EXPECT_EQ(curves.differs, StepIndex{4});
    EXPECT_EQ(curves.apart, StepIndex{4});
    EXPECT_TRUE(std::isfinite(*curves.noise));
    EXPECT_FALSE(lossCurves(training(broken), training(both)).differs);
}

}  // namespace
}  // namespace shardscope::analysis
