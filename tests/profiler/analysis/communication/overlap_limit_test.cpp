// What a schedule could hide at most, on timelines small enough to be worked out by hand.
#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

constexpr LayerIndex kA{0};
constexpr LayerIndex kB{1};

/// One rank, one step of `length` ticks; a tick is a nanosecond.
class OneStep {
public:
    explicit OneStep(std::int64_t length) {
        StepFacts step;
        step.rank = m_events.rank;
        step.start = {0};
        step.end = {length};
        m_summary.steps.push_back(step);
    }
    OneStep& phase(Phase phase, LayerIndex layer, std::int64_t start, std::int64_t end) {
        SpanEvent event;
        event.start = {start};
        event.duration = {end - start};
        event.phase = phase;
        event.layer = layer;
        m_events.phases.push_back(event);
        return *this;
    }
    OneStep& collective(Cause cause, LayerIndex layer, std::int64_t issue, std::int64_t start,
                        std::int64_t arrived, std::int64_t end) {
        CollectiveEvent event;
        event.cause = cause;
        event.layer = layer;
        event.issue = {issue};
        event.start = {start};
        event.end = {end};
        event.arrivals = {{start}, {arrived}};
        event.sequence = m_events.collectives.size() + 1;
        m_events.collectives.push_back(event);
        return *this;
    }
    OneStep& onADeviceOf(std::int32_t ranks) {
        DeviceFacts device;
        device.rank = m_events.rank;
        device.sharedBy = ranks;
        m_summary.devices.push_back(device);
        return *this;
    }
    [[nodiscard]] Overlap overlap() const {
        StepOverlaps steps;
        return rankOverlap(m_summary, m_events, steps);
    }

private:
    RecordingSummary m_summary;
    RankEvents m_events;
};

TEST(OverlapLimit, NothingBeforeTheFirstGatherCanHideIt) {
    // Gather A, compute A; all of it exposed.
    const Overlap overlap = OneStep(100)
                                .collective(Cause::kDemand, kA, 0, 0, 0, 10)
                                .phase(Phase::kForward, kA, 10, 30)
                                .overlap();
    EXPECT_EQ(overlap.limit(), 0.0);
    EXPECT_EQ(overlap.ratio(), 0.0);
}

TEST(OverlapLimit, APrefetchHidesAsFarAsComputeReaches) {
    // A (10) is demanded; B (30) prefetched with it runs behind A's compute (20): 20 of 40.
    const Overlap overlap = OneStep(100)
                                .collective(Cause::kDemand, kA, 0, 0, 0, 10)
                                .collective(Cause::kPrefetch, kB, 0, 10, 10, 40)
                                .phase(Phase::kForward, kA, 10, 30)
                                .phase(Phase::kWaitGather, kB, 30, 40)
                                .phase(Phase::kForward, kB, 40, 60)
                                .overlap();
    EXPECT_EQ(overlap.limit(), 0.5);
    EXPECT_EQ(overlap.ratio(), 0.5);
}

/// On an H200 that two ranks took turns on, 1.8 of such a limit was reached.
TEST(OverlapLimit, IsNotKnownOfRanksThatTakeTurnsOnADevice) {
    const auto limit = [](std::int32_t ranks) {
        return OneStep(100)
            .collective(Cause::kPrefetch, kB, 0, 0, 0, 30)
            .phase(Phase::kForward, kA, 0, 20)
            .phase(Phase::kForward, kB, 30, 50)
            .onADeviceOf(ranks)
            .overlap()
            .limit();
    };
    EXPECT_TRUE(limit(1));
    EXPECT_FALSE(limit(2));
}

TEST(OverlapLimit, WaitingForPeersAndLateThreadsAreNotInIt) {
    // The same, but the peer came 25 late for B and the thread woke 5 late.
    const Overlap overlap = OneStep(200)
                                .collective(Cause::kDemand, kA, 0, 0, 0, 10)
                                .collective(Cause::kPrefetch, kB, 0, 10, 35, 65)
                                .phase(Phase::kForward, kA, 10, 30)
                                .phase(Phase::kWaitGather, kB, 30, 70)
                                .phase(Phase::kForward, kB, 70, 90)
                                .overlap();
    EXPECT_EQ(overlap.limit(), 0.5);
    EXPECT_EQ(overlap.hidden.ns, 20);
    EXPECT_EQ(overlap.communication.ns, 65);
}

TEST(OverlapLimit, AReductionHidesBehindTheNextBackward) {
    // Backward B (20), its reduction (15) behind backward A (20), A's reduction (15) exposed.
    const Overlap overlap = OneStep(200)
                                .phase(Phase::kBackward, kB, 0, 20)
                                .collective(Cause::kGradient, kB, 20, 21, 21, 36)
                                .phase(Phase::kBackward, kA, 22, 42)
                                .collective(Cause::kGradient, kA, 42, 43, 43, 58)
                                .phase(Phase::kClip, kNoLayer, 60, 62)
                                .collective(Cause::kNorm, kNoLayer, 62, 62, 62, 63)
                                .phase(Phase::kOptimizer, kNoLayer, 63, 70)
                                .overlap();
    EXPECT_EQ(overlap.limitCommunication.ns, 31);
    EXPECT_EQ(overlap.limitHidden.ns, 15);
}

TEST(OverlapLimit, IsUnknownWhereCollectivesSayNotWhatTheyAreFor) {
    const Overlap overlap = OneStep(200)
                                .phase(Phase::kBackward, kNoLayer, 0, 20)
                                .collective(Cause::kNone, kNoLayer, 10, 11, 11, 36)
                                .phase(Phase::kOptimizer, kNoLayer, 40, 70)
                                .overlap();
    EXPECT_TRUE(overlap.ratio());
    EXPECT_FALSE(overlap.limit());
    EXPECT_FALSE(overlap.reachedOfLimit());
}

TEST(OverlapLimit, WhatIsAskedForInsideAPhaseStartsThere) {
    // Five into the optimizer (10), a gather of 20: five of it behind the rest.
    const Overlap overlap = OneStep(200)
                                .phase(Phase::kOptimizer, kNoLayer, 0, 10)
                                .collective(Cause::kPrefetch, kA, 5, 6, 6, 26)
                                .phase(Phase::kForward, kA, 30, 40)
                                .overlap();
    EXPECT_EQ(overlap.limitHidden.ns, 5);
    EXPECT_EQ(overlap.limitCommunication.ns, 20);
}

TEST(OverlapLimit, IsUnknownWithoutPhases) {
    const Overlap overlap = OneStep(100).collective(Cause::kDemand, kA, 0, 0, 0, 10).overlap();
    EXPECT_FALSE(overlap.limit());
}

}  // namespace
}  // namespace shardscope::analysis
