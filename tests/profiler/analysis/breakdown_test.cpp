#include "profiler/analysis/breakdown.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>

#include <array>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;

TEST(Breakdown, AddsUpToTheSteps) {
    const auto drawn = drawTimeline(R"(
        rank 0 step    |.ssssssssssssss.|
        rank 0 kernels |ff..ffff....bb.b|
        rank 0 nccl    |..aaaa......r...|
    )");
    const auto told = breakdownOf(drawn.summary, drawn.ranks[0], {{{9'000}, {11'000}}});
    ASSERT_TRUE(told);
    EXPECT_EQ(told->span.ns, 14'000);
    EXPECT_EQ(told->compute.ns, 7'000);
    EXPECT_EQ(told->communication.ns, 5'000);
    EXPECT_EQ(told->overlapped.ns, 3'000);
    EXPECT_EQ(told->nonCompute.ns, 4'000);  // two of the gather, two that copy
    EXPECT_EQ(told->idle.ns, 3'000);
    EXPECT_EQ(told->overlapPercent(), 60);
}

TEST(Breakdown, OfACpuRankIsThatOfItsStepThread) {
    const auto drawn = drawTimeline(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ddffggbb..|
        rank 0 comm    |...aaa....|
    )");
    const auto told = breakdownOf(drawn.summary, drawn.ranks[0], {});
    ASSERT_TRUE(told);
    EXPECT_EQ(told->compute.ns, 4'000);
    EXPECT_EQ(told->communication.ns, 3'000);
    EXPECT_EQ(told->overlapped.ns, 1'000);
    EXPECT_EQ(told->idle.ns, 4'000);
}

TEST(Breakdown, OfNothingIsNone) {
    const auto drawn = drawTimeline("rank 0 step |ssss|");
    EXPECT_FALSE(breakdownOf(drawn.summary, drawn.ranks[0], {}));
}

TEST(Breakdown, WithoutCommunicationHasNoOverlap) {
    const auto drawn = drawTimeline("rank 0 kernels |ff..b|");
    const auto told = breakdownOf(drawn.summary, drawn.ranks[0], {});
    ASSERT_TRUE(told);
    EXPECT_EQ(told->span.ns, 5'000);
    EXPECT_EQ(told->idle.ns, 2'000);
    EXPECT_FALSE(told->overlapPercent());
}

constexpr std::size_t kLength = 200;
using Ticks = std::array<bool, kLength>;

/// Ranges anywhere, and the ticks that they cover.
std::vector<TimeRange> scatter(test::RandomEvents& random, Ticks& ticks) {
    std::vector<TimeRange> ranges;
    for (std::int64_t n = random.between(0, 12); n > 0; --n) {
        const std::int64_t begin = random.between(0, kLength - 1);
        const std::int64_t end = std::min<std::int64_t>(begin + random.between(0, 30), kLength);
        ranges.push_back({{begin}, {end}});
        for (std::int64_t i = begin; i < end; ++i) ticks[static_cast<std::size_t>(i)] = true;
    }
    return ranges;
}

void addStep(RecordingSummary& summary, TimeRange range) {
    StepFacts step;
    step.start = range.begin;
    step.end = range.end;
    summary.steps.push_back(step);
}

/// Every tick looked at by itself.
TEST(Breakdown, IsThatOfBruteForce) {
    test::RandomEvents random(11);
    for (int round = 0; round < 10'000; ++round) {
        Ticks compute{}, communication{}, copies{}, steps{};
        RankEvents events;
        events.rank = {0};
        events.computeKernels = scatter(random, compute);
        events.communicationKernels = scatter(random, communication);
        const auto copied = scatter(random, copies);
        RecordingSummary summary;
        for (const TimeRange& range : scatter(random, steps)) addStep(summary, range);
        if (events.computeKernels.empty() || events.communicationKernels.empty() ||
            summary.steps.empty())
            continue;
        std::int64_t span = 0, idle = 0, computed = 0, communicated = 0, both = 0;
        for (std::size_t i = 0; i < kLength; ++i) {
            if (!steps[i]) continue;
            ++span;
            idle += !compute[i] && !communication[i] && !copies[i];
            computed += compute[i];
            communicated += communication[i];
            both += compute[i] && communication[i];
        }
        const auto told = breakdownOf(summary, events, copied);
        ASSERT_EQ(told.has_value(), computed + communicated > 0);
        if (!told) continue;
        ASSERT_EQ(told->span.ns, span);
        ASSERT_EQ(told->idle.ns, idle);
        ASSERT_EQ(told->compute.ns, computed);
        ASSERT_EQ(told->communication.ns, communicated);
        ASSERT_EQ(told->overlapped.ns, both);
        ASSERT_EQ(told->nonCompute.ns, span - idle - computed);
    }
}

}  // namespace
}  // namespace shardscope::analysis
