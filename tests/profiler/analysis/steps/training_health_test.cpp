#include "profiler/analysis/steps/training_health.h"

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
    for (MetricPoint& each : summary.metrics)
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
    summary.steps[33].end = summary.steps[33].start + Duration{400'000'000};
    EXPECT_THAT(eventsOf(summary), ElementsAre(std::pair(TrainingEvent::kSlowStep, 33)));
}

TEST(TrainingHealth, OfFewStepsOrNoneSaysNothing) {
    EXPECT_THAT(eventsOf({}), IsEmpty());
    RecordingSummary few = healthy();
    few.metrics.resize(16);
    few.steps.resize(8);
    few.metrics[14].value = 50;
    EXPECT_THAT(eventsOf(few), IsEmpty());
}

}  // namespace
}  // namespace shardscope::analysis
