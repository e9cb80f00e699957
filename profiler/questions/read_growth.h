// Reads the memory events of ranks that may leak.
#pragma once

#include "profiler/analysis/memory_steps.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <vector>

namespace shardscope::questions {

/// Of more ranks that may grow, those with the highest peaks are read: what one of hundreds leaks
/// they all do, or it stands out.
inline constexpr std::size_t kMostGrowthRanks = 16;

/// Of those of `ranks` whose memory may grow (analysis::mayGrow), by their steps with memory
/// events; one rank in memory at a time. `ranks` cover the whole run.
[[nodiscard]] Result<std::vector<analysis::RankGrowth>> memoryGrowths(
    storage::RecordingReader& reader, const RecordingSummary& summary,
    const std::vector<RankEvents>& ranks);

}  // namespace shardscope::questions
