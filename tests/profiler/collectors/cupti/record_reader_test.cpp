#include "profiler/collectors/cupti/record_reader.h"

#include "profiler/collectors/cupti/record_clock.h"
#include "tests/profiler/collectors/cupti/activities.h"
#include "tests/profiler/collectors/cupti/fake_cupti.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace shardscope::collectors::cupti {
namespace {

class RecordReaderTest : public testing::Test {
protected:
    std::vector<Record> read(const Activities& activities) {
        std::vector<std::uint64_t> buffer(activities.bytes().size() / 8 + 1);  // aligned
        auto* bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
        std::copy(activities.bytes().begin(), activities.bytes().end(), bytes);
        std::vector<Record> records;
        reader.read(bytes, activities.bytes().size(), records);
        return records;
    }
    template <class T>
    T only(const Activities& activities) {
        const auto records = read(activities);
        EXPECT_EQ(records.size(), 1u);
        return records.empty() ? T{} : std::get<T>(records[0]);
    }
    FakeCupti cupti;
    KernelNames names;
    RecordReader reader{cupti, names};
};

TEST_F(RecordReaderTest, Kernel) {
    auto activity = kernelActivity(42, 1000, 2500, "_Z3addi", 13);
    activity.graphNodeId = 77;
    const auto kernel = only<KernelRecord>(Activities().add(activity));
    EXPECT_EQ(kernel.work.time, (Interval{1000, 2500}));
    EXPECT_EQ(kernel.work.stream, (StreamKey{1, 13}));
    EXPECT_EQ(kernel.work.correlation, 42u);
    EXPECT_EQ(kernel.work.graphNode, 77u);
    EXPECT_EQ(names.at(kernel.name).full, "add(int)");
    EXPECT_EQ(kernel.grid, (std::array<std::int32_t, 3>{8, 2, 1}));
    EXPECT_EQ(kernel.block, (std::array<std::int32_t, 3>{128, 1, 1}));
    EXPECT_EQ(kernel.registers, 64);
    EXPECT_EQ(kernel.sharedBytes, 1536);
}

TEST_F(RecordReaderTest, KernelWithoutAName) {
    const auto kernel = only<KernelRecord>(Activities().add(kernelActivity(1, 1, 2, nullptr)));
    EXPECT_EQ(names.at(kernel.name).full, "unnamed kernel");
}

TEST_F(RecordReaderTest, CopyPeerCopyAndSet) {
    CUpti_ActivityMemcpy6 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy.bytes = 4096;
    copy.start = 10;
    copy.end = 20;
    copy.contextId = 1;
    copy.streamId = 7;
    copy.correlationId = 5;
    copy.graphNodeId = 9;
    const auto copied = only<CopyRecord>(Activities().add(copy));
    EXPECT_EQ(copied.bytes, 4096u);
    EXPECT_EQ(copied.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(copied.from, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    EXPECT_EQ(copied.to, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_FALSE(copied.peer);
    EXPECT_EQ(copied.work.correlation, 5u);
    EXPECT_EQ(copied.work.graphNode, 9u);

    CUpti_ActivityMemcpyPtoP4 peer{};
    peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    peer.bytes = 1;
    peer.start = 1;
    peer.end = 2;
    peer.srcDeviceId = 3;
    peer.dstDeviceId = 4;
    peer.correlationId = 6;
    const auto peered = only<CopyRecord>(Activities().add(peer));
    EXPECT_TRUE(peered.peer);
    EXPECT_EQ(peered.fromDevice, 3u);
    EXPECT_EQ(peered.toDevice, 4u);
    EXPECT_EQ(peered.work.correlation, 6u);

    CUpti_ActivityMemset4 set{};
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    set.bytes = 256;
    set.start = 3;
    set.end = 4;
    set.streamId = 8;
    const auto cleared = only<SetRecord>(Activities().add(set));
    EXPECT_EQ(cleared.bytes, 256u);
    EXPECT_EQ(cleared.work.stream.stream, 8u);
}

TEST_F(RecordReaderTest, CallsOfBothDomains) {
    auto runtime = callActivity(3, 100, 150, 4711);
    runtime.returnValue = 2;
    const auto first = only<CallRecord>(Activities().add(runtime));
    EXPECT_EQ(first.domain, CallDomain::kRuntime);
    EXPECT_EQ(first.id, 211u);
    EXPECT_EQ(first.thread, 4711u);
    EXPECT_EQ(first.correlation, 3u);
    EXPECT_EQ(first.result, 2u);
    auto driver = callActivity(4, 100, 150);
    driver.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    driver.cbid = 652;
    const auto second = only<CallRecord>(Activities().add(driver));
    EXPECT_EQ(second.domain, CallDomain::kDriver);
    EXPECT_EQ(second.id, 652u);
}

TEST_F(RecordReaderTest, ExternalIdsOfOurTwoStacks) {
    const auto records =
        read(Activities()
                 .add(externalActivity(1, 0xffff'ffff'0000'0001))
                 .add(externalActivity(1, 5, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1))
                 .add(externalActivity(1, 6, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)));
    ASSERT_EQ(records.size(), 2u) << "another tool's stack is not ours";
    EXPECT_EQ(std::get<ExternalRecord>(records[0]).id, 0xffff'ffff'0000'0001);
    EXPECT_EQ(std::get<ExternalRecord>(records[0]).stack, capture::AnnotationStack::kContext);
    EXPECT_EQ(std::get<ExternalRecord>(records[1]).stack, capture::AnnotationStack::kNcclLaunch);
    EXPECT_EQ(reader.counts().unknown, 1u);
}

TEST_F(RecordReaderTest, SynchronisationAndEvents) {
    CUpti_ActivitySynchronization2 sync{};
    sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    sync.start = 5;
    sync.end = 6;
    sync.correlationId = 9;
    sync.streamId = 20;
    sync.cudaEventId = 3;
    sync.cudaEventSyncId = 31;
    const auto waited = only<SyncRecord>(Activities().add(sync));
    EXPECT_EQ(waited.type, SyncType::kStreamWait);
    EXPECT_EQ(waited.stream, 20u);
    EXPECT_EQ(waited.event, 3u);
    EXPECT_EQ(waited.eventSync, 31u);
    sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    sync.cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    const auto device = only<SyncRecord>(Activities().add(sync));
    EXPECT_EQ(device.type, SyncType::kContext);
    EXPECT_EQ(device.eventSync, kNoSyncId);

    CUpti_ActivityCudaEvent2 event{};
    event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    event.contextId = 1;
    event.streamId = 7;
    event.eventId = 3;
    event.cudaEventSyncId = 31;
    const auto recorded = only<EventRecord>(Activities().add(event));
    EXPECT_EQ(recorded.stream, (StreamKey{1, 7}));
    EXPECT_EQ(recorded.event, 3u);
    EXPECT_EQ(recorded.eventSync, 31u);
}

TEST_F(RecordReaderTest, AllocationsGraphsAndOverhead) {
    CUpti_ActivityMemory4 memory{};
    memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    memory.address = 0x7f00;
    memory.bytes = 2 << 20;
    memory.timestamp = 77;
    const auto allocated = only<AllocationRecord>(Activities().add(memory));
    EXPECT_TRUE(allocated.allocates);
    EXPECT_TRUE(allocated.onDevice);
    EXPECT_EQ(allocated.address, 0x7f00u);
    EXPECT_EQ(allocated.bytes, 2u << 20);
    EXPECT_EQ(allocated.time, 77);
    memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    const auto freed = only<AllocationRecord>(Activities().add(memory));
    EXPECT_FALSE(freed.allocates);
    EXPECT_FALSE(freed.onDevice);

    CUpti_ActivityGraphTrace2 graph{};
    graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    graph.graphId = 12;
    graph.streamId = 7;
    graph.correlationId = 8;
    const auto launched = only<GraphRecord>(Activities().add(graph));
    EXPECT_EQ(launched.graph, 12u);
    EXPECT_EQ(launched.work.correlation, 8u);
    EXPECT_EQ(launched.work.stream.stream, 7u);

    CUpti_ActivityOverhead3 overhead{};
    overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
    overhead.start = 1;
    overhead.end = 3;
    overhead.overheadData = std::malloc(64);  // freed by the reader, or a leak is reported
    const auto cost = only<OverheadRecord>(Activities().add(overhead));
    EXPECT_EQ(cost.time, (Interval{1, 3}));
    EXPECT_EQ(cost.kind, static_cast<std::uint32_t>(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH));
}

TEST_F(RecordReaderTest, CountsAndSkipsKindsItDoesNotRead) {
    CUpti_ActivityDevice5 device{};
    device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    const auto records =
        read(Activities().add(kernelActivity(1, 1, 2)).add(device).add(kernelActivity(2, 2, 3)));
    EXPECT_EQ(records.size(), 2u);
    EXPECT_EQ(reader.counts().records, 3u);
    EXPECT_EQ(reader.counts().unknown, 1u);
    EXPECT_EQ(reader.counts().broken, 0u);
}

TEST_F(RecordReaderTest, StopsAtARecordOfNoKnownKind) {
    auto odd = callActivity(1, 1, 2);
    odd.kind = static_cast<CUpti_ActivityKind>(999);
    const auto records =
        read(Activities().add(kernelActivity(1, 1, 2)).add(odd).add(kernelActivity(2, 2, 3)));
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(reader.counts().broken, 1u);
}

TEST_F(RecordReaderTest, EmptyAndTruncatedBuffers) {
    std::uint64_t buffer[32] = {};
    auto* bytes = reinterpret_cast<std::uint8_t*>(buffer);
    const auto kernel = kernelActivity(1, 1, 2);
    std::memcpy(bytes, &kernel, sizeof kernel);
    std::vector<Record> records;
    reader.read(bytes, 0, records);
    reader.read(bytes, 100, records);  // less than the record
    EXPECT_TRUE(records.empty());
}

TEST_F(RecordReaderTest, OnlyOneRevisionIsKnown) {
    EXPECT_TRUE(layoutsKnown(130001));
    EXPECT_FALSE(layoutsKnown(130000));
    EXPECT_FALSE(layoutsKnown(130100));
    EXPECT_FALSE(layoutsKnown(0));
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEpoch = 1'700'000'000 * kSecond;

ClockSample sample(std::int64_t monotonic, std::int64_t offset = kEpoch, std::int64_t width = 60) {
    return {monotonic + offset, monotonic, monotonic, width};
}

TEST(RecordClock, MovesByAConstant) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_EQ(clock.toMonotonic(kEpoch + 11 * kSecond), 11 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 3 * kSecond), 3 * kSecond);
}

TEST(RecordClock, ScatterOfSamplesIsNoStep) {
    RecordClock clock(sample(10 * kSecond));
    for (int i = 1; i <= 50; ++i) {
        EXPECT_FALSE(
            clock.add(sample((10 + i) * kSecond, kEpoch + (i % 2 == 0 ? 900 : -900), 1500)));
    }
    EXPECT_EQ(clock.steps(), 0u);
    EXPECT_EQ(clock.lastStep(), 0);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 20 * kSecond), 20 * kSecond)
        << "as the first sample has it";
}

TEST(RecordClock, ForwardStepSplitsTheRecords) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_FALSE(clock.add(sample(11 * kSecond)));
    EXPECT_TRUE(clock.add(sample(12 * kSecond, kEpoch + 5 * kSecond)));
    EXPECT_EQ(clock.steps(), 1u);
    EXPECT_EQ(clock.lastStep(), 5 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 10 * kSecond + 1), 10 * kSecond + 1);
    // Between the two samples, either side of the step.
    EXPECT_EQ(clock.toMonotonic(kEpoch + 11 * kSecond + kSecond / 2), 11 * kSecond + kSecond / 2);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 16 * kSecond + kSecond / 2), 11 * kSecond + kSecond / 2);
    EXPECT_FALSE(clock.add(sample(13 * kSecond, kEpoch + 5 * kSecond)));
    EXPECT_EQ(clock.toMonotonic(kEpoch + 17 * kSecond + kSecond / 2), 12 * kSecond + kSecond / 2);
}

TEST(RecordClock, BackwardStepSplitsTheRecords) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_TRUE(clock.add(sample(11 * kSecond, kEpoch - 100 * kSecond)));
    EXPECT_EQ(clock.lastStep(), -100 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 10 * kSecond + kSecond / 2), 10 * kSecond + kSecond / 2);
    EXPECT_EQ(clock.toMonotonic(kEpoch - 89 * kSecond - kSecond / 2), 10 * kSecond + kSecond / 2);
}

TEST(RecordClock, SeveralStepsKeepTheirOwnTimes) {
    RecordClock clock(sample(kSecond));
    for (int i = 1; i <= 5; ++i) {
        EXPECT_TRUE(clock.add(sample((1 + i) * kSecond, kEpoch + i * 60 * kSecond)));
    }
    EXPECT_EQ(clock.steps(), 5u);
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(clock.toMonotonic((1 + i) * kSecond + kEpoch + i * 60 * kSecond),
                  (1 + i) * kSecond);
    }
}

TEST(RecordClock, TellsTheDriftFromTheRawClock) {
    RecordClock clock({kEpoch, 0, 0, 60});
    EXPECT_EQ(clock.driftPpm(), 0);
    clock.add({kEpoch + 1'000'020'000, 1'000'020'000, 1'000'000'000, 60});
    EXPECT_NEAR(clock.driftPpm(), 20.0, 1e-6);
}

TEST(RecordClock, ReadsTheHostsClocks) {
    const ClockSample first = readClocks();
    const ClockSample second = readClocks();
    EXPECT_GT(first.realtime, kEpoch);
    EXPECT_GE(second.monotonic, first.monotonic);
    EXPECT_GE(second.raw, first.raw);
    EXPECT_GT(first.width, 0);
}

}  // namespace
}  // namespace shardscope::collectors::cupti
