#include "profiler/analysis/steps/slow_steps.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

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
    const SlowSteps told = slowSteps(steady(21, 300));
    EXPECT_EQ(told.steps, 21u);
    EXPECT_DOUBLE_EQ(told.medianNs, 100);
    ASSERT_EQ(told.slow.size(), 1u);
    EXPECT_EQ(told.slow[0].step, StepIndex{7});
    EXPECT_EQ(told.slow[0].range.duration().ns, 300);
    EXPECT_TRUE(slowSteps(steady(21, 200)).slow.empty()) << "twice is not more than twice";
}

TEST(SlowSteps, OfFewStepsAreNotTold) {
    EXPECT_TRUE(slowSteps(steady(kLeastStepsForSpread - 1, 300)).slow.empty());
    EXPECT_EQ(slowSteps({}).steps, 0u);
}

/// Steps of 100 ns and 10 ns between them; a phase from 30 to 40 of step 7, or behind it.
TEST(SteadySteps, AreNotThoseThatDoSomethingElse) {
    RecordingSummary summary;
    summary.run.worldSize = 1;
    for (std::int32_t i = 0; i < 21; ++i) {
        StepFacts& step = summary.steps.emplace_back();
        step.step = {i};
        step.start = {110 * i};
        step.end = {110 * i + 100};
    }
    for (const Phase phase : {Phase::kEvaluation, Phase::kCheckpoint, Phase::kSample}) {
        RankEvents events;
        SpanEvent& span = events.phases.emplace_back();
        span.phase = phase;
        span.step = {7};
        span.start = {770 + 30};
        span.duration = {10};
        EXPECT_EQ(steadySteps(summary, {events}).steps.size(), 18u);
        EXPECT_FALSE(steadySteps(summary, {events}).steps.contains(StepIndex{7}));
        span.start = {770 + 100};
        EXPECT_EQ(steadySteps(summary, {events}).steps.size(), 19u) << "it lies behind the step";
    }
    summary.metrics.push_back({"validation_loss", {7}, {770 + 50}, 1});
    EXPECT_EQ(steadySteps(summary, {}).steps.size(), 18u) << "known by its metric";
    summary.metrics.own().back().time = {770 + 105};
    EXPECT_EQ(steadySteps(summary, {}).steps.size(), 19u);
}

/// 40 values around 1 with `high` from `begin` to `end`.
std::vector<double> series(std::size_t begin, std::size_t end, double high, double noise = 0,
                           std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values;
    for (std::size_t i = 0; i < 40; ++i)
        values.push_back((begin <= i && i < end ? high : 1) * std::exp(noise * normal(random)));
    return values;
}

constexpr StretchRule kTwice{2, 0.2};

TEST(HighStretch, IsWhereValuesAreHigh) {
    const auto stretch = highStretch(series(10, 22, 3), kTwice);
    ASSERT_TRUE(stretch);
    EXPECT_EQ(stretch->begin, 10u);
    EXPECT_EQ(stretch->end, 22u);
    EXPECT_DOUBLE_EQ(stretch->inside, 3);
    EXPECT_DOUBLE_EQ(stretch->outside, 1);
    EXPECT_DOUBLE_EQ(stretch->excess(), 24);
}

TEST(HighStretch, MayBeMostOfTheSeries) {
    const auto stretch = highStretch(series(10, 40, 3), kTwice);
    ASSERT_TRUE(stretch);
    EXPECT_EQ(stretch->size(), 30u);
    EXPECT_FALSE(highStretch(series(4, 40, 3), kTwice)) << "it is the normal state";
}

TEST(HighStretch, IsHighEnoughAndLongEnough) {
    EXPECT_FALSE(highStretch(series(10, 22, 1.9), kTwice));
    EXPECT_FALSE(highStretch(series(10, 17, 3), kTwice)) << "7 of 40";
    EXPECT_TRUE(highStretch(series(10, 18, 3), kTwice));
    EXPECT_FALSE(highStretch(series(0, 0, 1), kTwice));
    EXPECT_FALSE(highStretch({}, kTwice));
    EXPECT_FALSE(highStretch({1, 9, 9, 9}, kTwice));
    EXPECT_FALSE(highStretch(std::vector<double>(40, 0.0), kTwice));
}

TEST(HighStretch, IsNotHereAndThere) {
    std::vector<double> alternating;
    for (int i = 0; i < 40; ++i) alternating.push_back(i % 2 == 0 ? 1 : 3);
    EXPECT_FALSE(highStretch(alternating, kTwice));
    std::vector<double> spikes(40, 1.0);
    for (const std::size_t at : {3u, 11u, 17u, 25u, 33u}) spikes[at] = 50;
    EXPECT_FALSE(highStretch(spikes, kTwice));
}

TEST(HighStretch, IsFoundInNoiseAndNotMadeOfIt) {
    int found = 0, alarms = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto stretch = highStretch(series(8, 20, 3, 0.2, seed), kTwice);
        found += stretch && stretch->begin >= 6 && stretch->begin <= 10 && stretch->end >= 18 &&
                 stretch->end <= 22;
        alarms += highStretch(series(0, 0, 1, 0.2, seed), StretchRule{1.3, 0.1}).has_value();
    }
    EXPECT_GE(found, 190);
    EXPECT_LE(alarms, 2);
}

}  // namespace
}  // namespace shardscope::analysis
