// Reads what is known of ranks beside their events: clocks of their devices, calls for memory.
#pragma once

#include "profiler/analysis/surroundings.h"
#include "profiler/questions/selection.h"
#include "storage/recording/read/recording_reader.h"

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

}  // namespace shardscope::questions
