#include "profiler/collectors/nccl/nccl_payload.h"

#include <array>

namespace shardscope::collectors {
namespace {

struct TypeFacts {
    std::string_view word;
    std::int64_t bytes;
    std::optional<DataType> type;
};
constexpr std::array<TypeFacts, 16> kTypes{{
    {"ncclFloat32", 4, DataType::kFloat32},
    {"ncclFloat", 4, DataType::kFloat32},
    {"ncclBfloat16", 2, DataType::kBFloat16},
    {"ncclFloat16", 2, DataType::kFloat16},
    {"ncclHalf", 2, DataType::kFloat16},
    {"ncclFloat64", 8, DataType::kFloat64},
    {"ncclDouble", 8, DataType::kFloat64},
    {"ncclInt64", 8, DataType::kInt64},
    {"ncclUint64", 8, std::nullopt},
    {"ncclInt32", 4, std::nullopt},
    {"ncclInt", 4, std::nullopt},
    {"ncclUint32", 4, std::nullopt},
    {"ncclInt8", 1, DataType::kByte},
    {"ncclUint8", 1, DataType::kByte},
    {"ncclFloat8e4m3", 1, std::nullopt},
    {"ncclFloat8e5m2", 1, std::nullopt},
}};

const TypeFacts* find(std::string_view word) {
    for (const TypeFacts& facts : kTypes)
        if (facts.word == word) return &facts;
    return nullptr;
}

/// How many times a rank's count is the payload: 1, or the number of ranks.
std::optional<bool> countsOncePerRank(std::string_view function) {
    for (const char* once : {"AllReduce", "Broadcast", "Reduce"})
        if (function == once) return false;
    for (const char* perRank : {"AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"})
        if (function == perRank) return true;
    return std::nullopt;
}

}  // namespace

std::int64_t ncclElementBytes(std::string_view dataType) {
    const TypeFacts* facts = find(dataType);
    return facts == nullptr ? 0 : facts->bytes;
}

std::optional<DataType> ncclDataType(std::string_view dataType) {
    const TypeFacts* facts = find(dataType);
    return facts == nullptr ? std::nullopt : facts->type;
}

std::optional<Bytes> ncclPayload(const NcclRecord& record) {
    if (record.function == nullptr) return std::nullopt;
    const std::string_view function = record.function;
    const auto perRank = countsOncePerRank(function);
    if (!perRank || (*perRank && record.ranks <= 0)) return std::nullopt;
    const bool api = record.kind == NcclRecordKind::kApi;
    const bool bytes = !api && (function == "AllGather" || function == "Broadcast");
    const char* type = api ? record.callDataType : record.dataType;
    const std::int64_t element = bytes ? 1 : type == nullptr ? 0 : ncclElementBytes(type);
    if (element == 0) return std::nullopt;
    const auto count = static_cast<std::int64_t>(api ? record.callCount : record.count);
    return Bytes{count * element * (*perRank ? record.ranks : 1)};
}

}  // namespace shardscope::collectors
