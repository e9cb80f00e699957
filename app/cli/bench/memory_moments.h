// What a rank held at the moments of a step that theory knows, from the allocations that a
// recording has.
#pragma once

#include "engine/run/theory/memory_theory.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>

namespace shardscope::cli {

struct MomentsHeld {
    theory::MemoryByCategory initialised{};      ///< when the first step begins
    theory::MemoryByCategory beforeOptimizer{};  ///< when its last step clips or updates
    theory::MemoryByCategory afterOptimizer{};   ///< when its first forward begins
    Bytes forwardPeak;  ///< the most until the last block's forward of the last step is over
};
/// Of rank 0. kFailure: what it lacks for it, a phrase.
[[nodiscard]] Result<MomentsHeld> momentsOf(storage::RecordingReader& reader,
                                            const RecordingSummary& summary);

}  // namespace shardscope::cli
