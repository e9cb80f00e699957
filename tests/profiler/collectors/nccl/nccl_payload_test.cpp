#include "profiler/collectors/nccl/nccl_join.h"

#include <gtest/gtest.h>

namespace shardscope::collectors {
namespace {

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
