#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/report.h"
#include "profiler/analysis/report/report_draft.h"
#include "storage/model/rank_facts.h"
#include "tests/support/timeline.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;
using test::kTick;

test::Timeline onDevices(const std::string& drawing) {
    test::Timeline timeline = drawTimeline(drawing);
    for (const RankFacts& rank : timeline.summary.ranks) {
        DeviceFacts device;
        device.rank = rank.rank;
        device.name = "device";
        timeline.summary.devices.push_back(device);
    }
    return timeline;
}

Overlap overlapOf(const test::Timeline& timeline) {
    StepOverlaps steps;
    return rankOverlap(timeline.summary, timeline.ranks[0], steps);
}

DeviceUse useOf(const test::Timeline& timeline, std::size_t rank = 0) {
    return deviceUse(timeline.summary, timeline.ranks[rank]).value();
}

TEST(DeviceUse, CountsUnionsOfKernels) {
    const auto timeline = onDevices(R"(
rank 0 kernels |.aaa..bb.c|
rank 0 kernels |..ddd.....|
rank 0 nccl    |...nnnn...|
rank 0 step    |ssssssssss|)");
    const DeviceUse use = useOf(timeline);
    EXPECT_EQ(use.kernels, 5);
    EXPECT_EQ(use.compute.ns, 7 * kTick.ns);
    EXPECT_EQ(use.communication.ns, 4 * kTick.ns);
    EXPECT_EQ(use.hidden.ns, 3 * kTick.ns);
    EXPECT_EQ(use.idle.ns, 2 * kTick.ns);
    EXPECT_DOUBLE_EQ(*use.overlap(), 0.75);
}

/// Times are of steps, so the count is too: what runs before the first one or between two of them,
/// as the kernels that choose how to do attention, would not fit them.
TEST(DeviceUse, CountsKernelsOfStepsOnly) {
    const auto timeline = onDevices(R"(
rank 0 kernels |aa.bb.cc..dd|
rank 0 nccl    |.nn......n..|
rank 0 step    |..ssssss....|)");
    EXPECT_EQ(useOf(timeline).kernels, 2);
}

TEST(Overlap, OfATraceWithoutPhasesIsWhatKernelsHide) {
    const auto timeline = onDevices(R"(
rank 0 step    |ssssssssss|
rank 0 comm    |..aaaa....|
rank 0 kernels |.bbb...c..|)");
    const Overlap overlap = overlapOf(timeline);
    EXPECT_EQ(overlap.communication.ns, 4 * kTick.ns);
    EXPECT_EQ(overlap.hidden.ns, 2 * kTick.ns);
    EXPECT_EQ(overlap.exposed.ns, 2 * kTick.ns);
}

/// The limit of a schedule knows no waiting, so what is reached of it may not count any.
TEST(Overlap, ReachesOfItsLimitWhatMovesBehindCompute) {
    const test::Timeline timeline = test::drawTimeline(R"(
        rank 0 compute |ffff......|
        rank 0 comm    |.--aaa....|
        rank 0 step    |ssssssssss|)");
    Overlap overlap = overlapOf(timeline);
    EXPECT_EQ(overlap.hidden.ns, 3 * kTick.ns);
    EXPECT_EQ(overlap.moving.ns, 3 * kTick.ns);
    EXPECT_EQ(overlap.hiddenMoving.ns, kTick.ns);
    overlap.limitCommunication = Duration{100};
    overlap.limitHidden = Duration{50};
    EXPECT_DOUBLE_EQ(*overlap.reachedOfLimit(), (1.0 / 3) / 0.5);
    overlap.limitHidden = Duration{};
    EXPECT_FALSE(overlap.reachedOfLimit());
}

TEST(Overlap, CountsKernelsThatHaveNoRowOfACollective) {
    const auto timeline = onDevices(R"(
rank 0 step    |ssssssssss|
rank 0 comm    |..aaaa....|
rank 0 nccl    |..nnnn.nn.|
rank 0 kernels |.bbb...c..|)");
    const Overlap overlap = overlapOf(timeline);
    EXPECT_EQ(overlap.communication.ns, 6 * kTick.ns);
    EXPECT_EQ(overlap.hidden.ns, 3 * kTick.ns);
    const DeviceUse use = useOf(timeline);
    EXPECT_EQ(overlap.communication, use.communication);
    EXPECT_EQ(overlap.hidden, use.hidden);
}

TEST(Overlap, OfATraceWithoutStepsIsOfTheTimeThatKernelsTook) {
    const auto timeline = onDevices(R"(
rank 0 nccl    |..nnnn.nn.|
rank 0 kernels |.bbb...c..|)");
    const Overlap overlap = overlapOf(timeline);
    EXPECT_EQ(overlap.communication.ns, 6 * kTick.ns);
    EXPECT_EQ(overlap.hidden.ns, 3 * kTick.ns);
    const DeviceUse use = useOf(timeline);
    EXPECT_EQ(use.compute.ns, 4 * kTick.ns);
    EXPECT_EQ(use.communication.ns, 6 * kTick.ns);
    EXPECT_EQ(use.idle.ns, 1 * kTick.ns);
    EXPECT_FALSE(analyse(timeline.summary, timeline.ranks).withinSteps);
}

TEST(Overlap, OfOneRankOfSeveralDoesNotTellWaitingFromMoving) {
    auto timeline = onDevices(R"(
rank 0 step    |ssssssssss|
rank 0 comm    |..aaaa....|)");
    EXPECT_TRUE(analyse(timeline.summary, timeline.ranks).waitingKnown);
    timeline.summary.run.worldSize = 2;
    for (CollectiveEvent& event : timeline.ranks[0].collectives) event.arrivals = {};
    EXPECT_FALSE(analyse(timeline.summary, timeline.ranks).waitingKnown);
}

TEST(DeviceUse, LeavesOutWhatLiesOutsideStepsAndValidation) {
    const auto timeline = onDevices(R"(
rank 0 kernels |aa.bb.cc.d|
rank 0 compute |......ee..|
rank 0 step    |..ssssss..|)");
    const DeviceUse use = useOf(timeline);
    EXPECT_EQ(use.compute.ns, 2 * kTick.ns);
    EXPECT_EQ(use.idle.ns, 2 * kTick.ns);
    EXPECT_FALSE(use.overlap().has_value());
}

/// The report of one rank whose device copied meanwhile, in ticks [begin, end).
Report reportOf(const test::Timeline& timeline, std::int64_t begin, std::int64_t end) {
    ReportDraft draft(timeline.summary, {RankId{0}});
    const Timestamp zero = timeline.ranks[0].computeKernels.front().begin;
    draft.add(draft.share(0, {timeline.ranks[0]}, {},
                          {{zero + Duration{begin * kTick.ns}, zero + Duration{end * kTick.ns}}}),
              timeline.ranks[0]);
    return draft.conclude({}, {});
}

/// A kernel beside them is what the time counts for, as in the ledger.
TEST(DeviceUse, CountsCopiesOfWhatIsIdle) {
    const auto timeline = onDevices("rank 0 kernels |aa......bb|");
    const DeviceUse use = reportOf(timeline, 1, 9).devices.at(0);
    EXPECT_EQ(use.idle.ns, 6 * kTick.ns);
    EXPECT_EQ(use.copies.ns, 6 * kTick.ns);
    EXPECT_EQ(use.unused().ns, 0);
}

TEST(DeviceUse, FindsThatDevicesOnlyCopy) {
    const auto timeline = onDevices("rank 0 kernels |aa......bb|");
    const Report copying = reportOf(timeline, 2, 7);
    ASSERT_EQ(copying.findings.size(), 1u);
    EXPECT_EQ(copying.findings[0].code, "device-copies");
    EXPECT_EQ(copying.findings[0].title, "Devices only copy memory for 50 % of the time");
    EXPECT_EQ(copying.findings[0].severity, Severity::kWarning);
    EXPECT_EQ(copying.findings[0].cost, Duration{5 * kTick.ns});
    EXPECT_TRUE(reportOf(timeline, 2, 3).findings.empty());
}

TEST(DeviceUse, IsOfGpuRanksOnly) {
    const auto timeline = drawTimeline("rank 0 step |ss|");
    EXPECT_FALSE(deviceUse(timeline.summary, timeline.ranks[0]).has_value());
}

TEST(DeviceUse, EnergyIsInterpolatedAtTheStepsEdges) {
    auto timeline = onDevices(R"(
rank 0 step    |..ss1sss..|)");
    auto& energy = timeline.ranks[0].energy;
    // 1 J a tick, sampled every four.
    for (std::int64_t tick = 0; tick <= 8; tick += 4)
        energy.push_back({Timestamp{tick * kTick.ns}, {}, 100.0 + static_cast<double>(tick)});
    const DeviceUse use = useOf(timeline);
    EXPECT_DOUBLE_EQ(*use.joulesPerStep, 3.0);  // steps of 2 and 4 ticks
    EXPECT_DOUBLE_EQ(*use.joulesPerToken, 6.0 / 2000.0);
}

TEST(DeviceUse, StepsBeyondTheSamplesAreNotGuessed) {
    auto timeline = onDevices(R"(
rank 0 step    |ssss1sss..|)");
    auto& energy = timeline.ranks[0].energy;
    energy.push_back({Timestamp{kTick.ns}, {}, 5.0});
    energy.push_back({Timestamp{8 * kTick.ns}, {}, 12.0});
    EXPECT_DOUBLE_EQ(*useOf(timeline).joulesPerStep, 4.0);  // of the second step alone
    energy.pop_back();
    EXPECT_FALSE(useOf(timeline).joulesPerStep.has_value());
}

TEST(MeasuredPeakUse, NeedsEveryDevice) {
    auto timeline = onDevices("rank 0 step |ss|\nrank 1 step |ss|");
    timeline.summary.run.configJson = run::toJson({});
    EXPECT_FALSE(measuredPeakUse(timeline.summary, 1000.0).has_value());
    for (DeviceFacts& device : timeline.summary.devices) device.measuredPeak = 1e12;
    EXPECT_NEAR(*measuredPeakUse(timeline.summary, 1000.0), 1000.0 * 68.2e6 / 2e12, 1e-4);
    timeline.summary.devices[0].sharedBy = 2;
    EXPECT_FALSE(measuredPeakUse(timeline.summary, 1000.0).has_value());
}

}  // namespace
}  // namespace shardscope::analysis
