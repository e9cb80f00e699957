#include "profiler/collectors/cupti/cupti_collector.h"

#include "profiler/collectors/cupti/traced_calls.h"
#include "tests/profiler/collectors/cupti/fake_cupti.h"
#include "tests/profiler/collectors/cupti/kept_device_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::collectors {
namespace {

using capture::DeviceLevel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;
constexpr std::uint64_t kStart = kEpoch;

// A clock that can be set, and only moves when told to.
std::atomic<std::int64_t> g_monotonic{0};
std::atomic<std::int64_t> g_offset{kEpoch};
cupti::ClockSample fakeClocks() {
    const std::int64_t now = g_monotonic;
    return {now + g_offset, now, now, 50};
}

class CuptiCollectorTest : public testing::Test {
protected:
    CuptiCollectorTest() {
        g_monotonic = 0;
        g_offset = kEpoch;
    }
    static CuptiOptions options() {
        CuptiOptions options;
        options.buffers = 4;
        options.bufferBytes = 64 << 10;
        options.flushPeriod = std::chrono::hours(1);  // only when asked
        options.readClocks = &fakeClocks;
        return options;
    }
    void start(DeviceLevel level, const CuptiOptions& with = options()) {
        started = startCuptiCollector(cupti, level, sink, with);
    }
    std::set<std::uint32_t> kinds() {
        return cupti.state([](const FakeCupti& c) { return c.kinds; });
    }
    std::set<std::pair<CallDomain, std::uint32_t>> calls() {
        return cupti.state([](const FakeCupti& c) { return c.calls; });
    }
    std::vector<std::string> diagnosticCodes() const {
        std::vector<std::string> codes;
        for (const Diagnostic& d : sink.diagnostics) codes.push_back(d.code);
        return codes;
    }
    FakeCupti cupti;
    KeptDeviceEvents sink;
    DeviceCollectorStart started;
};

const std::set<std::uint32_t> kKernelKinds = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD};

std::set<std::uint32_t> with(std::set<std::uint32_t> kinds, std::set<std::uint32_t> more) {
    kinds.merge(more);
    return kinds;
}

const std::set<std::pair<CallDomain, std::uint32_t>> kLaunchCalls = {
    {CallDomain::kRuntime, 211}, {CallDomain::kRuntime, 214}, {CallDomain::kRuntime, 430},
    {CallDomain::kRuntime, 431}, {CallDomain::kRuntime, 269}, {CallDomain::kRuntime, 270},
    {CallDomain::kRuntime, 311}, {CallDomain::kRuntime, 312}, {CallDomain::kRuntime, 31},
    {CallDomain::kRuntime, 215}, {CallDomain::kRuntime, 41},  {CallDomain::kRuntime, 225},
    {CallDomain::kRuntime, 51},  {CallDomain::kRuntime, 235}, {CallDomain::kDriver, 307},
    {CallDomain::kDriver, 442},  {CallDomain::kDriver, 652},  {CallDomain::kDriver, 653},
    {CallDomain::kDriver, 514},  {CallDomain::kDriver, 515}};

const std::set<std::pair<CallDomain, std::uint32_t>> kWaitingCalls = {{CallDomain::kRuntime, 131},
                                                                      {CallDomain::kRuntime, 239},
                                                                      {CallDomain::kRuntime, 137},
                                                                      {CallDomain::kRuntime, 165}};

TEST_F(CuptiCollectorTest, NeverTouchesNothing) {
    start(DeviceLevel::kNever);
    EXPECT_EQ(started.collector, nullptr);
    EXPECT_FALSE(started.diagnostic);
    EXPECT_THAT(cupti.log, IsEmpty());
}

TEST_F(CuptiCollectorTest, StartsInTheOrderCuptiWants) {
    start(DeviceLevel::kKernels);
    ASSERT_NE(started.collector, nullptr);
    const auto log = cupti.state([](const FakeCupti& c) { return c.log; });
    EXPECT_THAT(log, ElementsAre("subscribe", "thread ids", "zeroed buffers", "buffer callbacks",
                                 "enable", "enable", "enable", "enable", "enable"));
}

TEST_F(CuptiCollectorTest, EndsWithAForcedFlushBeforeAnythingIsSwitchedOff) {
    start(DeviceLevel::kKernels);
    cupti.deliverOnFlush(Activities().add(kernelActivity(0, kStart + 10, kStart + 20)));
    started.collector.reset();
    EXPECT_THAT(cupti.log,
                ElementsAre("subscribe", "thread ids", "zeroed buffers", "buffer callbacks",
                            "enable", "enable", "enable", "enable", "enable", "flush forced",
                            "disable", "disable", "disable", "disable", "disable", "unsubscribe"));
    EXPECT_EQ(sink.on("stream 7").size(), 1u) << "what the last flush brought is drawn";
}

TEST_F(CuptiCollectorTest, LevelsEnableExactlyTheirKindsAndCalls) {
    start(DeviceLevel::kFull);
    ASSERT_NE(started.collector, nullptr);
    const auto launchKinds =
        with(kKernelKinds, {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_MEMORY2});
    const auto fullKinds =
        with(launchKinds, {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT});
    auto fullCalls = kLaunchCalls;
    fullCalls.insert(kWaitingCalls.begin(), kWaitingCalls.end());
    // Every change from every level to every other; the fake fails on a kind enabled twice or
    // disabled while off.
    for (const auto from :
         {DeviceLevel::kIdle, DeviceLevel::kKernels, DeviceLevel::kLaunches, DeviceLevel::kFull}) {
        for (const auto to : {DeviceLevel::kIdle, DeviceLevel::kKernels, DeviceLevel::kLaunches,
                              DeviceLevel::kFull}) {
            started.collector->setLevel(from);
            started.collector->setLevel(to);
            const bool launches = to >= DeviceLevel::kLaunches;
            EXPECT_EQ(kinds(), to == DeviceLevel::kIdle       ? std::set<std::uint32_t>{}
                               : to == DeviceLevel::kKernels  ? kKernelKinds
                               : to == DeviceLevel::kLaunches ? launchKinds
                                                              : fullKinds);
            EXPECT_EQ(calls(), to == DeviceLevel::kFull ? fullCalls
                               : launches               ? kLaunchCalls
                                                        : decltype(fullCalls){});
            EXPECT_TRUE(cupti.state([](const FakeCupti& c) { return c.graphNodes; }))
                << "what is captured now may be traced when it is replayed";
        }
    }
    EXPECT_FALSE(cupti.state([](const FakeCupti& c) { return c.allSyncRecords; }));
    EXPECT_EQ(kinds().count(CUPTI_ACTIVITY_KIND_KERNEL), 0u) << "it would serialise kernels";
}

TEST_F(CuptiCollectorTest, DoesNotRiseAboveTheLevelOfTheStart) {
    start(DeviceLevel::kKernels);
    started.collector->setLevel(DeviceLevel::kFull);
    EXPECT_EQ(kinds(), kKernelKinds);
    EXPECT_TRUE(calls().empty());
    started.collector->setLevel(DeviceLevel::kNever);
    EXPECT_TRUE(kinds().empty()) << "attached all the same";
}

TEST_F(CuptiCollectorTest, GraphsAsAWholeOnRequest) {
    CuptiOptions whole = options();
    whole.graphNodes = false;
    start(DeviceLevel::kLaunches, whole);
    EXPECT_EQ(kinds().count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1u);
    EXPECT_FALSE(cupti.state([](const FakeCupti& c) { return c.graphNodes; }));
}

TEST_F(CuptiCollectorTest, AnnotatesOnlyWhileLaunchesAreTraced) {
    start(DeviceLevel::kLaunches);
    const capture::DeviceAnnotator& annotator = started.collector->annotator();
    annotator.push(capture::AnnotationStack::kContext, 1);
    annotator.pop(capture::AnnotationStack::kContext);
    started.collector->setLevel(DeviceLevel::kKernels);
    annotator.push(capture::AnnotationStack::kContext, 2);
    started.collector.reset();
    annotator.pop(capture::AnnotationStack::kContext);
    EXPECT_THAT(cupti.pushed, ElementsAre(std::pair<std::uint32_t, std::uint64_t>{
                                  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1}));
    EXPECT_EQ(cupti.pops, 1);
}

TEST_F(CuptiCollectorTest, DrawsWhatCuptiDelivers) {
    start(DeviceLevel::kLaunches);
    const capture::LaunchContext context{{4}, {1}, Phase::kBackward, sink.intern("aten::mm")};
    cupti.deliver(Activities().add(kernelActivity(5, kStart + 200, kStart + 900)));
    cupti.deliverOnFlush(Activities()
                             .add(externalActivity(5, capture::pack(context)))
                             .add(callActivity(5, kStart + 100, kStart + 140)));
    g_monotonic = 1000;
    started.collector->flush(false);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].start.ns, 200);
    EXPECT_EQ(kernels[0].step, StepIndex{4});
    EXPECT_EQ(kernels[0].layer, LayerIndex{1});
    EXPECT_EQ(kernels[0].phase, Phase::kBackward);
    const capture::DeviceCounts counts = started.collector->counts();
    EXPECT_EQ(counts.records, 3u);
    EXPECT_EQ(counts.kernels, 1u);
    EXPECT_EQ(counts.attributed, 1u);
    EXPECT_EQ(counts.launches, 1u);
    EXPECT_EQ(counts.dropped, 0u);
    EXPECT_EQ(counts.unknown, 0u);
    EXPECT_THAT(sink.diagnostics, IsEmpty());
}

TEST_F(CuptiCollectorTest, GraphNodesAreRememberedAtCapture) {
    start(DeviceLevel::kLaunches);
    const capture::LaunchContext captured{{0}, {5}, Phase::kForward, sink.intern("aten::mm")};
    const auto& annotator = started.collector->annotator();
    annotator.push(capture::AnnotationStack::kContext, capture::pack(captured));
    cupti.client()->graphNodeCreated(11, true);
    annotator.pop(capture::AnnotationStack::kContext);
    cupti.client()->graphNodeCreated(12, true);  // outside any operator
    cupti.client()->graphNodeCloned(11, 111);
    auto replayed = kernelActivity(9, kStart + 200, kStart + 300);
    replayed.graphNodeId = 111;
    auto launch = callActivity(9, kStart + 100, kStart + 140);
    launch.cbid = 311;
    auto other = kernelActivity(9, kStart + 300, kStart + 400);
    other.graphNodeId = 12;
    const capture::LaunchContext replay{{6}, kNoLayer, Phase::kOther, kEmptyString};
    cupti.deliverOnFlush(Activities()
                             .add(replayed)
                             .add(other)
                             .add(externalActivity(9, capture::pack(replay)))
                             .add(launch));
    started.collector->flush(true);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].layer, LayerIndex{5});
    EXPECT_EQ(kernels[0].phase, Phase::kForward);
    EXPECT_EQ(kernels[0].step, StepIndex{6});
    EXPECT_EQ(kernels[1].phase, Phase::kOther) << "the replay's, for want of an own one";
    EXPECT_EQ(started.collector->counts().attributed, 2u);
    EXPECT_EQ(started.collector->counts().replayed, 2u);
}

TEST_F(CuptiCollectorTest, AGraphCapturedWhileNothingIsTracedIsKnownWhenItIsReplayed) {
    start(DeviceLevel::kLaunches);
    started.collector->setLevel(DeviceLevel::kIdle);
    const auto& annotator = started.collector->annotator();
    annotator.push(capture::AnnotationStack::kContext,
                   capture::pack({{0}, {5}, Phase::kForward, kEmptyString}));
    ASSERT_TRUE(cupti.state([](const FakeCupti& c) { return c.graphNodes; }));
    cupti.client()->graphNodeCreated(11, true);
    annotator.pop(capture::AnnotationStack::kContext);
    started.collector->setLevel(DeviceLevel::kLaunches);
    auto replayed = kernelActivity(9, kStart + 200, kStart + 300);
    replayed.graphNodeId = 11;
    cupti.deliverOnFlush(Activities().add(replayed));
    started.collector->flush(true);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].layer, LayerIndex{5});
    EXPECT_EQ(started.collector->counts().captured, 0u) << "its launch was not traced";
}

/// Calls that put kernels into a graph are traced like any other, and run none.
TEST_F(CuptiCollectorTest, CapturedLaunchesAreToldApart) {
    start(DeviceLevel::kLaunches);
    cupti.client()->graphNodeCreated(11, true);
    cupti.client()->graphNodeCreated(12, false);  // a copy
    cupti.client()->graphNodeCloned(11, 111);
    cupti.deliverOnFlush(Activities().add(callActivity(5, kStart + 100, kStart + 140)));
    started.collector->flush(true);
    EXPECT_EQ(started.collector->counts().launches, 1u);
    EXPECT_EQ(started.collector->counts().captured, 1u);
}

TEST_F(CuptiCollectorTest, AFlushOfEverythingLeavesNothingWaiting) {
    start(DeviceLevel::kLaunches);
    cupti.deliverOnFlush(Activities().add(kernelActivity(5, kStart + 200, kStart + 900)));
    started.collector->flush(false);
    EXPECT_TRUE(sink.kept.empty()) << "its launch may still come";
    started.collector->flush(true);
    EXPECT_EQ(sink.on("stream 7").size(), 1u);
    EXPECT_THAT(cupti.state([](const FakeCupti& c) { return c.flushes; }),
                ElementsAre(false, true));
}

TEST_F(CuptiCollectorTest, AttachedAndIdleFlushesOnlyWhenAsked) {
    CuptiOptions eager = options();
    eager.flushPeriod = std::chrono::milliseconds(0);
    eager.pollPeriod = std::chrono::milliseconds(1);
    start(DeviceLevel::kIdle, eager);
    for (int i = 0; i < 20; ++i) started.collector->flush(false);
    EXPECT_EQ(cupti.state([](const FakeCupti& c) { return c.flushes.size(); }), 20u);
    EXPECT_TRUE(kinds().empty());
}

TEST_F(CuptiCollectorTest, AnotherSubscriberIsNamed) {
    cupti.subscription = {kCuptiSecondSubscriber, "Nsight Systems"};
    start(DeviceLevel::kKernels);
    EXPECT_EQ(started.collector, nullptr);
    ASSERT_TRUE(started.diagnostic);
    EXPECT_EQ(started.diagnostic->code, "cupti-busy");
    EXPECT_EQ(started.diagnostic->severity, Severity::kWarning);
    EXPECT_THAT(started.diagnostic->message, HasSubstr("'Nsight Systems'"));
    EXPECT_THAT(started.diagnostic->message, HasSubstr("engine ranges timed by CUDA events"));
    EXPECT_THAT(started.diagnostic->remedy, HasSubstr("nsys"));
    EXPECT_THAT(cupti.log, ElementsAre("subscribe")) << "nothing to undo";
}

TEST_F(CuptiCollectorTest, AnUnnamedSubscriberIsStillOne) {
    cupti.subscription = {kCuptiSecondSubscriber, ""};
    start(DeviceLevel::kKernels);
    ASSERT_TRUE(started.diagnostic);
    EXPECT_THAT(started.diagnostic->message, HasSubstr("another tool already traces"));
}

TEST_F(CuptiCollectorTest, WithoutADriver) {
    cupti.subscription = {kCuptiUnknown, ""};
    start(DeviceLevel::kKernels);
    EXPECT_EQ(started.collector, nullptr);
    ASSERT_TRUE(started.diagnostic);
    EXPECT_EQ(started.diagnostic->code, "cupti-unavailable");
    EXPECT_THAT(started.diagnostic->message, HasSubstr("error 999 (text of 999)"));
    EXPECT_THAT(started.diagnostic->remedy, HasSubstr("nvidia-smi"));
}

TEST_F(CuptiCollectorTest, AnotherRevisionIsNotRead) {
    cupti.foundVersion = 130101;
    start(DeviceLevel::kKernels);
    EXPECT_EQ(started.collector, nullptr);
    ASSERT_TRUE(started.diagnostic);
    EXPECT_EQ(started.diagnostic->code, "cupti-version");
    EXPECT_THAT(started.diagnostic->message, HasSubstr("130101"));
    EXPECT_THAT(started.diagnostic->message, HasSubstr("130001"));
    EXPECT_THAT(started.diagnostic->remedy, HasSubstr("LD_LIBRARY_PATH"));
    EXPECT_THAT(cupti.log, IsEmpty()) << "not even subscribed";
}

TEST_F(CuptiCollectorTest, WithoutKernelsThereIsNoCollector) {
    cupti.refusedKinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 35;
    start(DeviceLevel::kKernels);
    EXPECT_EQ(started.collector, nullptr);
    ASSERT_TRUE(started.diagnostic);
    EXPECT_EQ(started.diagnostic->code, "cupti-unavailable");
    EXPECT_THAT(started.diagnostic->message, HasSubstr("error 35"));
    EXPECT_EQ(cupti.log.back(), "unsubscribe");
}

TEST_F(CuptiCollectorTest, ARefusedKindIsSaidAndTheRestGoesOn) {
    cupti.refusedKinds[CUPTI_ACTIVITY_KIND_MEMORY2] = 27;
    start(DeviceLevel::kLaunches);
    ASSERT_NE(started.collector, nullptr);
    started.collector->flush(false);
    started.collector->flush(false);
    ASSERT_THAT(diagnosticCodes(), ElementsAre("cupti-partial")) << "once";
    EXPECT_THAT(sink.diagnostics[0].message, HasSubstr("driver allocations (error 27"));
}

TEST_F(CuptiCollectorTest, BuffersRunOutAndItIsSaid) {
    start(DeviceLevel::kKernels);
    // The decoder may fetch some in between: keep taking until one is refused.
    std::vector<std::uint8_t*> held;
    std::size_t size = 0;
    while (std::uint8_t* buffer = cupti.client()->takeBuffer(size)) held.push_back(buffer);
    EXPECT_EQ(held.size(), 4u);
    EXPECT_EQ(size, 0u);
    EXPECT_FALSE(cupti.deliver(Activities()
                                   .add(kernelActivity(0, kStart + 1, kStart + 2))
                                   .add(kernelActivity(0, kStart + 2, kStart + 3))));
    started.collector->flush(false);
    EXPECT_EQ(started.collector->counts().dropped, 2u);
    ASSERT_THAT(diagnosticCodes(), ElementsAre("cupti-dropped"));
    EXPECT_EQ(sink.diagnostics[0].count, 2);
    for (std::uint8_t* buffer : held) cupti.client()->completeBuffer(buffer, 0);
    started.collector->flush(false);
    EXPECT_TRUE(cupti.deliver(Activities().add(kernelActivity(0, kStart + 1, kStart + 2))));
    started.collector->flush(false);
    EXPECT_EQ(started.collector->counts().kernels, 1u) << "it recovers";
}

TEST_F(CuptiCollectorTest, AClockThatIsSetIsToldAndFollowed) {
    start(DeviceLevel::kKernels);
    g_monotonic = 1'000'000'000;
    started.collector->flush(false);
    g_monotonic = 2'000'000'000;
    g_offset = kEpoch + 60'000'000'000;
    cupti.deliverOnFlush(
        Activities().add(kernelActivity(0, kStart + 61'900'000'000, kStart + 61'900'000'500)));
    started.collector->flush(false);
    ASSERT_THAT(diagnosticCodes(), ElementsAre("clock-stepped"));
    EXPECT_THAT(sink.diagnostics[0].message, HasSubstr("60000.000 ms"));
    EXPECT_EQ(sink.diagnostics[0].time.ns, 2'000'000'000);
    EXPECT_EQ(sink.on("stream 7").at(0).start.ns, 1'900'000'000);
}

TEST_F(CuptiCollectorTest, UnreadableBuffersAndMissingLaunchesAreTold) {
    start(DeviceLevel::kLaunches);
    Activities activities;
    for (std::uint32_t i = 0; i < 256; ++i) {
        activities.add(kernelActivity(0, kStart + i, kStart + i + 1));
    }
    auto odd = callActivity(1, 1, 2);
    odd.kind = static_cast<CUpti_ActivityKind>(999);
    cupti.deliverOnFlush(activities.add(odd));
    started.collector->flush(false);
    started.collector->flush(false);
    EXPECT_THAT(diagnosticCodes(), ElementsAre("cupti-unreadable", "cupti-no-launches"));
    EXPECT_EQ(sink.on("stream 7").size(), 256u);
}

}  // namespace
}  // namespace shardscope::collectors
