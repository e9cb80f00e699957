
#include "profiler/collectors/nccl/nccl_join.h"
#include "profiler/collectors/nccl/nccl_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace shardscope::collectors {
namespace {

struct Twin {
    std::uint64_t one = 0;
    std::uint64_t other = 0;
};
Twin twin(std::uint64_t value) {
    return {value, ~value};
}

TEST(HandleRing, IsReadableAfterItsCloseUntilTheSlotIsReused) {
    HandleRing<Twin> ring(4);
    const auto first = ring.open([](NcclHandleId handle) { return twin(handle); });
    EXPECT_TRUE(ring.close(first));
    EXPECT_FALSE(ring.close(first));
    Twin value;
    ASSERT_TRUE(ring.read(first, value));
    EXPECT_EQ(value.one, first);
    for (int i = 0; i < 4; ++i) EXPECT_NE(ring.open([](NcclHandleId h) { return twin(h); }), 0U);
    EXPECT_FALSE(ring.read(first, value));
    EXPECT_FALSE(ring.close(first));
}

TEST(HandleRing, KnowsNoHandleThatItNeverGave) {
    HandleRing<Twin> ring(4);
    Twin value;
    for (const NcclHandleId handle : {NcclHandleId{0}, NcclHandleId{3}, ~NcclHandleId{0}}) {
        EXPECT_FALSE(ring.read(handle, value));
        EXPECT_FALSE(ring.close(handle));
    }
}

TEST(HandleRing, NotesLeadFromAnEarlierHandleToOneLaterOne) {
    HandleRing<Twin> ring(8);
    const auto group = ring.open([](NcclHandleId h) { return twin(h); });
    EXPECT_EQ(ring.note(group), 0U);
    const auto launch = ring.open([](NcclHandleId h) { return twin(h); });
    ring.setNote(group, launch);
    EXPECT_EQ(ring.note(group), launch);
    ring.setNote(group, launch);
    EXPECT_EQ(ring.note(group), launch);
    ring.setNote(group, launch + 1);  // two launches: which one is not known
    EXPECT_EQ(ring.note(group), 0U);
}

TEST(HandleRing, NeverShowsHalfOfAValueWhileThreadsOverwriteEachOther) {
    HandleRing<Twin> ring(4);
    std::atomic<NcclHandleId> latest{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> writers;
    for (int t = 0; t < 3; ++t) {
        writers.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) {
                const auto handle = ring.open([](NcclHandleId h) { return twin(h); });
                if (handle != 0) latest = handle;
            }
        });
    }
    std::thread reader([&] {
        while (!done.load()) {
            const NcclHandleId handle = latest;
            Twin value;
            if (!ring.read(handle, value)) continue;
            EXPECT_EQ(value.one, handle);
            EXPECT_EQ(value.other, ~handle);
        }
    });
    for (auto& writer : writers) writer.join();
    done = true;
    reader.join();
}

TEST(NcclRing, KeepsOrderDropsWhenFullAndGoesOnAfterwards) {
    NcclRing ring(4);
    NcclRecord record;
    EXPECT_FALSE(ring.pop(record));
    for (std::uint64_t round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < 5; ++i) {
            record.count = i;
            EXPECT_EQ(ring.push(record), i < 4);
        }
        for (std::uint64_t i = 0; i < 4; ++i) {
            ASSERT_TRUE(ring.pop(record));
            EXPECT_EQ(record.count, i);
        }
        EXPECT_FALSE(ring.pop(record));
    }
}

TEST(NcclRing, LosesNothingBetweenManyProducersAndOneConsumer) {
    NcclRing ring(64);
    constexpr std::uint64_t kEach = 5000;
    std::vector<std::thread> producers;
    for (std::uint64_t p = 0; p < 4; ++p) {
        producers.emplace_back([&, p] {
            NcclRecord record;
            record.communicator = p;
            for (record.count = 0; record.count < kEach;) {
                if (ring.push(record))
                    ++record.count;
                else
                    std::this_thread::yield();
            }
        });
    }
    std::array<std::uint64_t, 4> next{};
    NcclRecord record;
    for (std::uint64_t seen = 0; seen < 4 * kEach;) {
        if (!ring.pop(record)) {
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(record.count, next[record.communicator]++);
        ++seen;
    }
    for (auto& producer : producers) producer.join();
}

std::int64_t task(const char* function, std::uint64_t count, const char* type, int ranks = 4) {
    NcclRecord record;
    record.kind = NcclRecordKind::kCollective;
    record.function = function;
    record.count = count;
    record.dataType = type;
    record.ranks = ranks;
    const auto payload = ncclPayload(record);
    return payload ? payload->count : -1;
}

std::int64_t call(const char* function, std::uint64_t count, const char* type, int ranks = 4) {
    NcclRecord record;
    record.kind = NcclRecordKind::kApi;
    record.function = function;
    record.callCount = count;
    record.callDataType = type;
    record.ranks = ranks;
    const auto payload = ncclPayload(record);
    return payload ? payload->count : -1;
}

// 1,000 bfloat16 passed on each of four ranks.
TEST(NcclPayload, IsTheSameFromTheCallAndFromTheTask) {
    EXPECT_EQ(call("AllReduce", 1000, "ncclBfloat16"), 2000);
    EXPECT_EQ(task("AllReduce", 1000, "ncclBfloat16"), 2000);
    EXPECT_EQ(call("AllGather", 1000, "ncclBfloat16"), 8000);
    EXPECT_EQ(task("AllGather", 2000, "ncclInt8"), 8000);
    EXPECT_EQ(call("ReduceScatter", 1000, "ncclBfloat16"), 8000);
    EXPECT_EQ(task("ReduceScatter", 1000, "ncclBfloat16"), 8000);
    EXPECT_EQ(call("Broadcast", 1000, "ncclBfloat16"), 2000);
    EXPECT_EQ(task("Broadcast", 2000, "ncclInt8"), 2000);
    EXPECT_EQ(call("Reduce", 1000, "ncclFloat32"), 4000);
    EXPECT_EQ(call("AlltoAll", 1000, "ncclFloat32"), 16'000);
    EXPECT_EQ(call("Gather", 1000, "ncclFloat32"), 16'000);
    EXPECT_EQ(call("Scatter", 1000, "ncclFloat32"), 16'000);
}

TEST(NcclPayload, IsUnknownWithoutRanksTypeOrFunction) {
    EXPECT_EQ(call("AllGather", 1000, "ncclBfloat16", 0), -1);
    EXPECT_EQ(call("AllReduce", 1000, "ncclBfloat16", 0), 2000);
    EXPECT_EQ(call("AllReduce", 1000, "ncclComplex"), -1);
    EXPECT_EQ(call("AllReduce", 1000, nullptr), -1);
    EXPECT_EQ(call(nullptr, 1000, "ncclInt8"), -1);
    EXPECT_EQ(call("Send", 1000, "ncclInt8"), -1);
}

TEST(NcclPayload, KnowsElementSizesAndTheEnginesTypes) {
    EXPECT_EQ(ncclElementBytes("ncclFloat32"), 4);
    EXPECT_EQ(ncclElementBytes("ncclBfloat16"), 2);
    EXPECT_EQ(ncclElementBytes("ncclFloat16"), 2);
    EXPECT_EQ(ncclElementBytes("ncclFloat64"), 8);
    EXPECT_EQ(ncclElementBytes("ncclInt64"), 8);
    EXPECT_EQ(ncclElementBytes("ncclInt32"), 4);
    EXPECT_EQ(ncclElementBytes("ncclUint8"), 1);
    EXPECT_EQ(ncclElementBytes("ncclFloat8e4m3"), 1);
    EXPECT_EQ(ncclDataType("ncclBfloat16"), DataType::kBFloat16);
    EXPECT_EQ(ncclDataType("ncclInt64"), DataType::kInt64);
    EXPECT_EQ(ncclDataType("ncclUint32"), std::nullopt);
}

}  // namespace
}  // namespace shardscope::collectors
