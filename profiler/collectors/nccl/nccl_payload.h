// What NCCL's words mean: element sizes, payloads, types. Pure.
#pragma once

#include "profiler/collectors/nccl/nccl_records.h"
#include "storage/model/events.h"

#include <optional>
#include <string_view>

namespace shardscope::collectors {

/// Bytes of an element of "ncclBfloat16" and the like; 0 when the word is unknown.
[[nodiscard]] std::int64_t ncclElementBytes(std::string_view dataType);

/// "ncclBfloat16" -> kBFloat16; nothing for types the engine does not use.
[[nodiscard]] std::optional<DataType> ncclDataType(std::string_view dataType);

/// Whole payload S of algbw = S/t (nccl-tests doc/PERFORMANCE.md): gathered size, size before
/// reduction. From a kCollective record, whose count NCCL has rewritten to bytes for AllGather
/// and Broadcast, or from a kApi record, which holds what the caller passed. Nothing when the
/// function is not a collective or the number of ranks is unknown.
[[nodiscard]] std::optional<Bytes> ncclPayload(const NcclRecord& record);

}  // namespace shardscope::collectors
