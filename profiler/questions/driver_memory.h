// How long a rank took device memory from the driver and gave it back: what an allocator that
// caches does seldom once it has what it needs, and in each step where it finds no room.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <map>
#include <optional>
#include <string_view>

namespace shardscope::questions {

/// Whether a call of a device's runtime or driver takes or gives memory at once, and so may wait
/// for the device: cudaMalloc, cuMemCreate, hipFree, "cudaFree_v3020", ...; not memory of the host,
/// nor pools ordered by streams (cudaMallocAsync).
[[nodiscard]] bool isDriverMemoryCall(std::string_view name);

/// By step, of its calls within `range`; nothing where its calls were not traced.
[[nodiscard]] Result<std::optional<std::map<StepIndex, Duration>>> driverMemoryTime(
    storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank,
    TimeRange range);

}  // namespace shardscope::questions
