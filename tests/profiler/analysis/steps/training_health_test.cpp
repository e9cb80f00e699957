#include "profiler/analysis/steps/training_health.h"

#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// 60 steps whose loss falls from 4 to 2 with noise, norms around 1.
RecordingSummary healthy(std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    RecordingSummary summary;
    summary.run.worldSize = 1;
    for (std::int32_t i = 0; i < 60; ++i) {
        const Timestamp time{i * 100'000'000LL};
        const double loss = 2 + 2 * std::exp(-i / 15.0) + 0.03 * normal(random);
        summary.metrics.push_back({"loss", {i}, time, loss});
        summary.metrics.push_back({"gradient_norm", {i}, time, std::exp(0.2 * normal(random))});
        const auto length = static_cast<std::int64_t>(90e6 * std::exp(0.03 * normal(random)));
        StepFacts step;
        step.step = {i};
        step.start = time;
        step.end = {time.ns + length};
        step.tokens = 1000;
        summary.steps.push_back(step);
    }
    return summary;
}

std::vector<std::pair<TrainingEvent, std::int32_t>> eventsOf(const RecordingSummary& summary) {
    std::vector<std::pair<TrainingEvent, std::int32_t>> events;
    for (const TrainingMoment& moment : trainingHealth(summary, {}).moments)
        events.emplace_back(moment.event, moment.step.value);
    return events;
}

MetricPoint& point(RecordingSummary& summary, const char* name, std::int32_t step) {
    for (MetricPoint& each : summary.metrics.own())
        if (each.name == name && each.step == StepIndex{step}) return each;
    throw std::out_of_range(name);
}

TEST(TrainingHealth, SaysNothingOfHealthyRuns) {
    int alarms = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) alarms += !eventsOf(healthy(seed)).empty();
    EXPECT_LE(alarms, 2);
    EXPECT_EQ(trainingHealth(healthy(), {}).losses, 60u);
    EXPECT_EQ(trainingHealth(healthy(), {}).steps, 58u);
}

TEST(TrainingHealth, FindsALossSpike) {
    RecordingSummary summary = healthy();
    point(summary, "loss", 40).value *= 1.4;
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kLossSpike, 40)));
    const TrainingMoment moment = trainingHealth(summary, {}).moments.at(0);
    EXPECT_NEAR(moment.typical, 2.2, 0.1);
    EXPECT_EQ(moment.time.ns, 4'000'000'000);
}

TEST(TrainingHealth, FindsAGradientNormThatIsOut) {
    RecordingSummary summary = healthy();
    point(summary, "gradient_norm", 30).value = 9;
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kGradientNorm, 30)));
}

TEST(TrainingHealth, FindsWhatIsNoNumber) {
    RecordingSummary summary = healthy();
    point(summary, "loss", 50).value = std::numeric_limits<double>::quiet_NaN();
    point(summary, "gradient_norm", 50).value = std::numeric_limits<double>::infinity();
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kNotFinite, 50),
                                               std::pair(TrainingEvent::kNotFinite, 50)));
}

TEST(TrainingHealth, FindsSkippedUpdates) {
    RecordingSummary summary = healthy();
    for (std::int32_t i = 0; i < 60; ++i)
        summary.metrics.push_back(
            {"loss_scale", {i}, {i * 100'000'000LL}, i < 20 ? 65536.0 : 32768.0});
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kSkippedUpdate, 20)));
}

TEST(TrainingHealth, FindsASlowStep) {
    RecordingSummary summary = healthy();
    summary.steps.own()[33].end = summary.steps[33].start + Duration{400'000'000};
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kSlowStep, 33)));
}

TEST(TrainingHealth, OfFewStepsOrNoneSaysNothing) {
    EXPECT_THAT(eventsOf({}), IsEmpty());
    RecordingSummary few = healthy();
    few.metrics.resize(16);
    few.steps.resize(8);
    few.metrics.own()[14].value = 50;
    EXPECT_THAT(eventsOf(few), IsEmpty());
}

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
