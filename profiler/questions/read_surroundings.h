// Reads what is known of ranks beside their events: clocks of their devices, calls for memory.
#pragma once

#include "profiler/analysis/rules/surroundings.h"
#include "profiler/questions/selection.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <map>
#include <optional>
#include <string_view>

namespace shardscope::questions {

/// Adds what is known of one rank within its selected time. `summary`: of the selection.
[[nodiscard]] Result<void> addSurroundings(storage::RecordingReader& reader,
                                           const RecordingSummary& summary,
                                           const Selection& selection, RankId rank,
                                           analysis::Surroundings& around);
/// Of all its ranks.
[[nodiscard]] Result<analysis::Surroundings> surroundings(storage::RecordingReader& reader,
                                                          const RecordingSummary& summary,
                                                          const Selection& selection);

/// Whether a call of a device's runtime or driver takes or gives memory at once, and so may wait
/// for the device: cudaMalloc, cuMemCreate, hipFree, "cudaFree_v3020", ...; not memory of the host,
/// nor pools ordered by streams (cudaMallocAsync).
[[nodiscard]] bool isDriverMemoryCall(std::string_view name);

/// How long a rank took device memory from the driver and gave it back: what an allocator that
/// caches does seldom once it has what it needs, and in each step where it finds no room. By step,
/// of its calls within `range`; nothing where its calls were not traced.
[[nodiscard]] Result<std::optional<std::map<StepIndex, Duration>>> driverMemoryTime(
    storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank,
    TimeRange range);

}  // namespace shardscope::questions
