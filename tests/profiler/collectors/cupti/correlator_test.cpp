#include "profiler/collectors/cupti/correlator.h"

#include "tests/profiler/collectors/cupti/correlator_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::collectors::cupti {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CorrelatorTest : public testing::Test, public CorrelatorFixture {};

TEST_F(CorrelatorTest, KernelGetsOperatorLayerPhaseAndStepOfItsLaunch) {
    correlator.add({context(5, during("aten::mm")), call(5, 100, 140), kernel(5, 200, 900)});
    correlator.settle(true);
    const SpanEvent span = only("stream 7");
    EXPECT_EQ(sink.lanes.at(span.lane).role, LaneRole::kCompute);
    EXPECT_EQ(span.start.ns, 200);
    EXPECT_EQ(span.duration.ns, 700);
    EXPECT_EQ(nameOf(span), "gemm");
    EXPECT_EQ(span.correlation, 5u);
    EXPECT_EQ(span.step, StepIndex{3});
    EXPECT_EQ(span.layer, LayerIndex{2});
    EXPECT_EQ(span.phase, Phase::kForward);
    EXPECT_EQ(argumentsOf(span),
              R"({"operator":"aten::mm","grid":[8,1,1],"block":[128,1,1],"registers":0,)"
              R"("shared_bytes":0,"stream":7})");
    const SpanEvent launch = only("CUDA calls (thread 100)");
    EXPECT_EQ(sink.lanes.at(launch.lane).role, LaneRole::kRuntime);
    EXPECT_EQ(nameOf(launch), "cudaLaunchKernel");
    EXPECT_EQ(launch.correlation, 5u);
    EXPECT_EQ(launch.layer, LayerIndex{2});
    EXPECT_EQ(argumentsOf(launch), R"({"operator":"aten::mm"})");
    EXPECT_EQ(correlator.counts().kernels, 1u);
    EXPECT_EQ(correlator.counts().attributed, 1u);
    EXPECT_EQ(correlator.counts().launches, 1u);
    EXPECT_EQ(correlator.counts().early, 0u);
}

TEST_F(CorrelatorTest, BackwardThreadsHaveTheirOwnContexts) {
    const auto forward = during("aten::mm", 3, 0, Phase::kForward);
    const auto backward = during("mm_backward", 3, 0, Phase::kBackward);
    correlator.add({kernel(11, 500, 600, "dgrad"), call(11, 300, 310, 200), context(11, backward),
                    kernel(10, 200, 400, "fprop"), call(10, 100, 110, 100), context(10, forward)});
    correlator.settle(true);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(nameOf(kernels[0]), "fprop");
    EXPECT_EQ(kernels[0].phase, Phase::kForward);
    EXPECT_EQ(nameOf(kernels[1]), "dgrad");
    EXPECT_EQ(kernels[1].phase, Phase::kBackward);
    EXPECT_THAT(argumentsOf(kernels[1]), testing::HasSubstr("mm_backward"));
    EXPECT_EQ(sink.on("CUDA calls (thread 200)").size(), 1u);
}

TEST_F(CorrelatorTest, TimesFollowTheRecordingClock) {
    // From 2 ms on the clock runs a tenth slower.
    sink.clock.correct({2'000'000, 1'000'000'000, 0}, 0);
    correlator.add({context(5, during("aten::mm")), call(5, 100, 140),
                    kernel(5, 1'500'000, 2'500'000), context(6, during("aten::mm")),
                    call(6, 2'600'000, 2'610'000), kernel(6, 3'000'000, 4'000'000)});
    correlator.settle(true);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].start.ns, 1'500'000);
    EXPECT_NEAR(static_cast<double>(kernels[0].duration.ns), 950'000, 1);
    EXPECT_NEAR(static_cast<double>(kernels[1].start.ns), 2'900'000, 1);
    EXPECT_NEAR(static_cast<double>(kernels[1].duration.ns), 900'000, 1);
}

TEST_F(CorrelatorTest, WaitsForTheOtherHalfOverFlushes) {
    correlator.add({kernel(5, 200, 900)});
    correlator.settle(true);
    EXPECT_TRUE(sink.kept.empty());
    correlator.add({context(5, during("aten::mm")), call(5, 100, 140)});
    correlator.settle(true);
    EXPECT_EQ(only("stream 7").layer, LayerIndex{2});
    EXPECT_EQ(correlator.pending(), 0u);
}

TEST_F(CorrelatorTest, LateKernelFindsALaunchOfLongAgo) {
    correlator.add({context(5, during("aten::mm")), call(5, 100, 140)});
    for (int i = 0; i < 20; ++i) correlator.settle(true);
    correlator.add({kernel(5, 200, 900)});
    correlator.settle(true);
    EXPECT_EQ(only("stream 7").layer, LayerIndex{2});
}

TEST_F(CorrelatorTest, DrawsWithoutTheOtherHalfAfterTheNextButOneFlush) {
    correlator.add({kernel(5, 200, 900)});
    correlator.settle(true);
    correlator.settle(true);
    EXPECT_TRUE(sink.kept.empty());
    correlator.settle(true);
    const SpanEvent span = only("stream 7");
    EXPECT_EQ(span.step, kNoStep);
    EXPECT_EQ(span.layer, kNoLayer);
    EXPECT_EQ(span.correlation, 5u);
    EXPECT_EQ(correlator.counts().attributed, 0u);
    EXPECT_EQ(correlator.counts().kernels, 1u);
}

TEST_F(CorrelatorTest, WithoutLaunchTracingNothingWaits) {
    correlator.add({kernel(0, 200, 900), kernel(0, 900, 950), kernel(6, 950, 960)});
    correlator.settle(false);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 3u);
    EXPECT_NE(kernels[0].correlation, 0u) << "0 means an engine phase";
    EXPECT_NE(kernels[0].correlation, kernels[1].correlation);
    EXPECT_GT(kernels[0].correlation, 0xffff'ffffu) << "cannot be taken for one of CUPTI's";
    EXPECT_EQ(kernels[2].correlation, 6u);
}

TEST_F(CorrelatorTest, HoldsNoMoreThanItsLimit) {
    CorrelatorFixture bounded({.pending = 100, .launches = 50, .events = 10});
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        bounded.correlator.add({bounded.kernel(i, i * 10, i * 10 + 5)});
        EXPECT_LE(bounded.correlator.pending(), 100u);
    }
    bounded.correlator.finish();
    EXPECT_EQ(bounded.sink.on("stream 7").size(), 1000u) << "none is lost";
}

TEST_F(CorrelatorTest, ForgetsTheOldestLaunches) {
    CorrelatorFixture bounded({.pending = 1000, .launches = 50, .events = 10});
    std::vector<Record> records;
    for (std::uint32_t i = 1; i <= 60; ++i) {
        records.push_back(CorrelatorFixture::context(i, bounded.during("aten::mm")));
        records.push_back(bounded.kernel(i, 1000 + i, 1001 + i));
    }
    bounded.correlator.add(records);
    bounded.correlator.finish();
    EXPECT_EQ(bounded.correlator.counts().attributed, 50u);
    EXPECT_EQ(bounded.correlator.counts().kernels, 60u);
}

TEST_F(CorrelatorTest, DropsAndCountsImpossibleTimes) {
    KernelRecord untimed = kernel(1, 0, 0);
    untimed.work.time = {0, 0};
    CopyRecord reversedCopy = copy(3, 500, 400);
    correlator.add({untimed, kernel(2, 500, 499), reversedCopy, kernel(4, 600, 600)});
    correlator.finish();
    EXPECT_EQ(sink.kept.size(), 1u) << "an empty interval is possible";
    EXPECT_EQ(correlator.counts().untimed, 1u);
    EXPECT_EQ(correlator.counts().reversed, 2u);
    EXPECT_EQ(correlator.counts().kernels, 3u) << "seen, if not drawn";
}

TEST_F(CorrelatorTest, CountsKernelsBeforeTheirLaunchButKeepsThem) {
    correlator.add({call(1, 100'000, 101'000), kernel(1, 94'000, 99'000), call(2, 100'000, 101'000),
                    kernel(2, 96'000, 99'000)});
    correlator.finish();
    EXPECT_EQ(correlator.counts().early, 1u) << "the clock fit may be off by 5 us";
    EXPECT_EQ(sink.on("stream 7").size(), 2u);
}

TEST_F(CorrelatorTest, RolesFollowWhatRanNotWhatCameFirst) {
    correlator.add({copy(1, 10, 20, 7), kernel(2, 30, 40, "gemm", 7),
                    kernel(3, 50, 60, "ncclDevKernel_AllGather_RING_LL", 7), copy(4, 70, 80, 20),
                    kernel(5, 90, 95, "ncclDevKernel_AllReduce", 21)});
    correlator.finish();
    std::map<std::string, LaneRole> roles;
    for (const auto& [id, lane] : sink.lanes) roles[lane.name] = lane.role;
    EXPECT_EQ(roles,
              (std::map<std::string, LaneRole>{{"stream 7", LaneRole::kCompute},
                                               {"stream 7: NCCL", LaneRole::kCommunication},
                                               {"stream 7: copies", LaneRole::kCopy},
                                               {"stream 20: copies", LaneRole::kCopy},
                                               {"stream 21: NCCL", LaneRole::kCommunication}}));
    EXPECT_EQ(sink.declarations, 5) << "each once";
    EXPECT_EQ(only("stream 7: NCCL").correlation, 0u) << "not a collective's sequence";
    EXPECT_EQ(sink.lanes.begin()->first, lanes::kStreams.at(0));
}

TEST_F(CorrelatorTest, SecondContextIsTold) {
    KernelRecord other = kernel(2, 30, 40);
    other.work.stream.context = 4;
    correlator.add({kernel(1, 10, 20), other});
    correlator.finish();
    EXPECT_THAT(sink.laneNames(), ElementsAre("stream 7", "stream 7, context 4"));
}

TEST_F(CorrelatorTest, CopiesAndSets) {
    SetRecord set;
    set.work = {interval(50, 60), {1, 7}, 2, 0};
    set.bytes = 256;
    CopyRecord peer = copy(3, 70, 80);
    peer.peer = true;
    peer.fromDevice = 1;
    peer.toDevice = 0;
    correlator.add(
        {copy(1, 10, 20), context(1, during("aten::copy_")), call(1, 5, 9, 100, 41), set, peer});
    correlator.finish();
    const auto spans = sink.on("stream 7: copies");
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ(nameOf(spans[0]), "copy host to device");
    EXPECT_EQ(argumentsOf(spans[0]),
              R"({"operator":"aten::copy_","bytes":4096,"from":"pinned host","to":"device",)"
              R"("stream":7})");
    EXPECT_EQ(spans[0].phase, Phase::kForward);
    EXPECT_EQ(nameOf(spans[1]), "set memory");
    EXPECT_EQ(argumentsOf(spans[1]), R"({"bytes":256,"stream":7})");
    EXPECT_EQ(nameOf(spans[2]), "copy between devices");
    EXPECT_THAT(argumentsOf(spans[2]), testing::HasSubstr(R"("from_device":1,"to_device":0)"));
    EXPECT_EQ(nameOf(only("CUDA calls (thread 100)")), "cudaMemcpyAsync");
    EXPECT_EQ(correlator.counts().kernels, 0u);
}

TEST_F(CorrelatorTest, KernelsOfAGraphBelongToTheOperatorsCaptured) {
    nodes.add(1, {during("aten::mm", 0, 4, Phase::kForward), 0});
    nodes.add(2, {during("aten::gelu", 0, 5, Phase::kForward), 0});
    nodes.clone(1, 101);
    nodes.clone(2, 102);
    correlator.add({context(9, during("replay", 17, -1, Phase::kOther)),
                    call(9, 100, 200, 100, 311), kernel(9, 300, 400, "gemm", 7, 101),
                    kernel(9, 400, 500, "gelu", 7, 102), kernel(9, 500, 600, "late", 7, 103)});
    correlator.settle(true);
    const auto kernels = sink.on("stream 7");
    ASSERT_EQ(kernels.size(), 3u);
    EXPECT_EQ(kernels[0].layer, LayerIndex{4});
    EXPECT_EQ(kernels[0].step, StepIndex{17}) << "of the replay, not of the capture";
    EXPECT_THAT(argumentsOf(kernels[0]), testing::HasSubstr(R"("operator":"aten::mm")"));
    EXPECT_THAT(argumentsOf(kernels[0]), testing::HasSubstr(R"("graph_node":101)"));
    EXPECT_EQ(kernels[1].layer, LayerIndex{5});
    EXPECT_EQ(kernels[2].phase, Phase::kOther) << "a node nobody saw captured: the launch's";
    EXPECT_EQ(correlator.counts().attributed, 3u);
}

TEST_F(CorrelatorTest, GraphReplayWithoutAContextKeepsTheCaptured) {
    nodes.add(1, {during("aten::mm", 0, 4), 0});
    correlator.add({call(9, 100, 200, 100, 311), kernel(9, 300, 400, "gemm", 7, 1)});
    correlator.finish();
    EXPECT_EQ(only("stream 7").layer, LayerIndex{4});
    EXPECT_EQ(only("stream 7").step, StepIndex{0});
}

TEST_F(CorrelatorTest, OfTooManyNodesTheOldestAreForgotten) {
    nodes.add(1, {during("aten::mm", 0, 4), 0});
    for (std::uint64_t node = 2; node <= GraphNodes::kMostNodes; ++node) nodes.add(node, {});
    EXPECT_TRUE(nodes.find(1));
    nodes.add(GraphNodes::kMostNodes + 1, {during("aten::gelu", 0, 5), 0});
    EXPECT_FALSE(nodes.find(1));
    EXPECT_EQ(nodes.find(GraphNodes::kMostNodes + 1)->context.layer, LayerIndex{5});
}

TEST_F(CorrelatorTest, CollectivesOfAGraphAreReportedAtEachReplay) {
    nodes.add(1, {during("all_gather", 0, 4), 44});
    correlator.add({call(9, 100, 200, 100, 311), kernel(9, 300, 400, "ncclDevKernel", 7, 1)});
    correlator.add({call(10, 500, 600, 100, 311), kernel(10, 700, 800, "ncclDevKernel", 7, 1)});
    correlator.finish();
    ASSERT_EQ(sink.collectives.size(), 2u);
    for (const capture::CollectiveKernel& replayed : sink.collectives) {
        EXPECT_EQ(replayed.launch, 44u);
        EXPECT_TRUE(replayed.replay);
    }
    EXPECT_EQ(sink.collectives[1].start.ns, 700);
    EXPECT_EQ(correlator.counts().replayed, 2u);
}

TEST_F(CorrelatorTest, WholeGraphs) {
    GraphRecord graph;
    graph.work = {interval(300, 900), {1, 7}, 9, 0};
    graph.graph = 12;
    correlator.add({graph, context(9, during("replay", 17)), call(9, 100, 200, 100, 311)});
    correlator.finish();
    const SpanEvent span = only("stream 7");
    EXPECT_EQ(nameOf(span), "CUDA graph");
    EXPECT_EQ(argumentsOf(span), R"({"operator":"replay","graph":12,"stream":7})");
    EXPECT_EQ(span.correlation, 9u);
    EXPECT_EQ(span.step, StepIndex{17});
}

TEST_F(CorrelatorTest, NcclLaunchesAreReportedWithTheirKernels) {
    correlator.add({context(5, during("all_gather")), ncclLaunch(5, 44),
                    call(5, 100, 140, 9, 652, CallDomain::kDriver),
                    kernel(5, 200, 900, "ncclDevKernel_AllGather_RING_LL", 20),
                    kernel(6, 200, 900, "gemm", 7)});
    correlator.finish();
    ASSERT_EQ(sink.collectives.size(), 1u);
    EXPECT_EQ(sink.collectives[0].launch, 44u);
    EXPECT_EQ(sink.collectives[0].start.ns, 200);
    EXPECT_EQ(sink.collectives[0].end.ns, 900);
    EXPECT_EQ(sink.text(sink.collectives[0].name), "ncclDevKernel_AllGather_RING_LL");
    EXPECT_EQ(only("stream 20: NCCL").layer, LayerIndex{2});
}

TEST_F(CorrelatorTest, DriverCallInsideARuntimeCallIsDrawnOnce) {
    correlator.add({call(5, 110, 130, 100, 307, CallDomain::kDriver), call(5, 100, 140)});
    correlator.add({call(6, 210, 230, 100, 652, CallDomain::kDriver)});
    correlator.finish();
    const auto calls = sink.on("CUDA calls (thread 100)");
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(nameOf(calls[0]), "cudaLaunchKernel");
    EXPECT_EQ(nameOf(calls[1]), "cuLaunchKernelEx");
    EXPECT_EQ(correlator.counts().launches, 2u);
}

TEST_F(CorrelatorTest, FailedAndUnlistedCalls) {
    CallRecord failed = call(5, 100, 140);
    failed.result = 719;
    correlator.add({failed, call(6, 200, 240, 100, 9999)});
    correlator.finish();
    const auto calls = sink.on("CUDA calls (thread 100)");
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(argumentsOf(calls[0]), R"({"error":719})");
    EXPECT_EQ(nameOf(calls[1]), "CUDA runtime call 9999");
    EXPECT_EQ(correlator.counts().launches, 0u) << "no kernel comes of it";
}

TEST_F(CorrelatorTest, OnlyKernelLaunchesAreHeldAgainstKernels) {
    // cudaLaunchKernel, cudaMemcpyAsync, cudaMemsetAsync, cudaGraphLaunch
    correlator.add({call(1, 100, 110), call(2, 120, 130, 100, 41), call(3, 140, 150, 100, 51),
                    call(4, 160, 170, 100, 311)});
    correlator.finish();
    EXPECT_EQ(sink.on("CUDA calls (thread 100)").size(), 4u);
    EXPECT_EQ(correlator.counts().launches, 1u);
}

TEST_F(CorrelatorTest, WaitsSayWhichEventAndWhereItWasRecorded) {
    const SyncRecord wait{interval(100, 500), SyncType::kEvent, 5, 1, ~0u, 3, 31};
    const SyncRecord stream{interval(600, 700), SyncType::kStream, 6, 1, 7, ~0u, kNoSyncId};
    correlator.add({wait, stream, call(6, 599, 701, 100, 131)});
    correlator.settle(true);
    EXPECT_EQ(nameOf(only("CUDA waits (thread 100)")), "wait for stream");
    correlator.add({EventRecord{{1, 20}, 3, 31}, call(5, 99, 501, 100, 137)});
    correlator.settle(true);
    const auto waits = sink.on("CUDA waits (thread 100)");
    ASSERT_EQ(waits.size(), 2u);
    EXPECT_EQ(sink.lanes.at(waits[1].lane).role, LaneRole::kSync);
    EXPECT_EQ(nameOf(waits[1]), "wait for event");
    EXPECT_EQ(argumentsOf(waits[1]), R"({"event":3,"recorded_on_stream":20})");
    EXPECT_EQ(correlator.counts().launches, 0u) << "waiting launches nothing";
}

TEST_F(CorrelatorTest, WaitsOfNoKnownThread) {
    correlator.add({SyncRecord{interval(1, 2), SyncType::kStreamWait, 5, 1, 20, 3, 31}});
    correlator.finish();
    const SpanEvent wait = only("CUDA waits");
    EXPECT_EQ(nameOf(wait), "stream waits for event");
    EXPECT_EQ(argumentsOf(wait), R"({"stream":20,"event":3})");
}

TEST_F(CorrelatorTest, DriverAllocationsAddUpInTheOrderOfTime) {
    const auto at = [](std::int64_t t) { return kEpoch + t; };
    correlator.settle(true);
    correlator.add({AllocationRecord{at(40), 0xa, 0, false, true},
                    AllocationRecord{at(30), 0xb, 50, true, true},
                    AllocationRecord{at(45), 0xdead, 0, false, true},  // from before tracing
                    AllocationRecord{at(46), 0xc, 7, true, false}});   // host memory
    correlator.settle(true);
    EXPECT_TRUE(sink.points.empty());
    correlator.add({AllocationRecord{at(20), 0xa, 100, true, true},  // came late
                    AllocationRecord{at(90), 0xd, 1, true, true}});
    correlator.settle(true);
    std::vector<std::pair<std::int64_t, double>> points;
    for (const CounterEvent& point : sink.points) points.emplace_back(point.time.ns, point.value);
    EXPECT_THAT(points,
                ElementsAre(std::pair{20, 100.0}, std::pair{30, 150.0}, std::pair{40, 50.0}));
    ASSERT_EQ(sink.lanes.size(), 1u);
    EXPECT_EQ(sink.lanes.begin()->second.role, LaneRole::kCounter);
    EXPECT_EQ(sink.lanes.begin()->second.name, "driver allocations (cudaMalloc)");
    EXPECT_EQ(sink.lanes.begin()->second.unit, "bytes");
}

TEST_F(CorrelatorTest, AnAllocationWhoseReleaseWasLostIsNotCountedTwice) {
    correlator.add({AllocationRecord{kEpoch + 1, 0xa, 100, true, true},
                    AllocationRecord{kEpoch + 2, 0xa, 30, true, true}});
    correlator.finish();
    EXPECT_EQ(sink.points.back().value, 30);
}

TEST_F(CorrelatorTest, OverheadHasALaneOfItsOwn) {
    correlator.add(
        {OverheadRecord{interval(10, 30), 1u << 16}, OverheadRecord{interval(40, 50), 0}});
    correlator.settle(true);
    const auto spans = sink.on("tracer overhead");
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(nameOf(spans[0]), "flushing buffers");
    EXPECT_EQ(nameOf(spans[1]), "overhead");
    EXPECT_EQ(sink.lanes.at(spans[0].lane).role, LaneRole::kRuntime);
}

TEST_F(CorrelatorTest, FullNamesAreKeptInTheArguments) {
    correlator.add({kernel(1, 10, 20, "_ZN2at6native4copyEPf")});
    correlator.finish();
    EXPECT_EQ(nameOf(only("stream 7")), "copy");
    EXPECT_THAT(argumentsOf(only("stream 7")),
                testing::HasSubstr("\"kernel\":\"at::native::copy(float*)\""));
}

}  // namespace
}  // namespace shardscope::collectors::cupti
