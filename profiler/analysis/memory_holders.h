// What a peak of memory consists of, block by block: who asked for them, and what the recording
// does not explain.
//
// Blocks alive at the peak, summed up by owner, category, layer and phase of their allocation.
// Unexplained = peak - their sum, so that all of it adds up to the peak to the byte: blocks whose
// allocation was thinned out of the file, or that share an address.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::analysis {

struct MemoryHolder {
    std::string owner;  ///< operator or buffer
    MemoryCategory category = MemoryCategory::kOther;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;  ///< in which it was allocated
    std::int64_t blocks = 0;
    Bytes bytes;
};

struct PeakHolders {
    std::vector<MemoryHolder> holders;  ///< most bytes first
    Bytes unexplained;                  ///< below 0: blocks are larger than the peak
};
/// `blocks`: alive at the peak. `textOf` gives owners their names.
[[nodiscard]] PeakHolders peakHolders(const std::vector<MemoryEvent>& blocks, Bytes peak,
                                      const std::function<std::string_view(StringId)>& textOf);

using MemoryPlace = std::pair<MemoryCategory, LayerIndex>;
/// Bytes of holders by category and layer.
[[nodiscard]] std::map<MemoryPlace, Bytes> byPlace(const std::vector<MemoryHolder>& holders);

/// The most that was alive right after an allocation of a phase in a layer, over the steps.
struct PhaseMemory {
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;
    StepIndex step;  ///< in which that was
    Bytes peak;
};
/// `events` of a rank, by time, from before its first step on. Most bytes first.
[[nodiscard]] std::vector<PhaseMemory> phaseMemory(const std::vector<MemoryEvent>& events,
                                                   const std::vector<StepFacts>& steps);

}  // namespace shardscope::analysis
