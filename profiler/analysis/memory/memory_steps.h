// A rank's memory step by step: the most it held in each, what was left at its end, and whether
// that grows.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::analysis {

struct StepMemory {
    StepIndex step;
    Bytes peak;                      ///< the most within the step
    Phase peakPhase = Phase::kNone;  ///< of the allocation that reached it
    LayerIndex peakLayer = kNoLayer;
    Bytes left;  ///< alive at its end
};

/// `events` of the rank, by time, from before its first step on; `steps` by step.
[[nodiscard]] std::vector<StepMemory> stepMemory(const std::vector<MemoryEvent>& events,
                                                 const std::vector<StepFacts>& steps);

/// What is left at the ends of steps grows: in this share of them, the first two left out, and by
/// this share of the peak over all of them.
inline constexpr double kGrowingSteps = 0.8;
inline constexpr double kLeastGrowth = 0.01;
inline constexpr std::size_t kLeastStepsForGrowth = 6;

struct MemoryGrowth {
    bool grows = false;
    Bytes perStep;  ///< median from one step's end to the next
    Bytes all;      ///< from the first looked at to the last
};
/// Nothing of too few steps.
[[nodiscard]] std::optional<MemoryGrowth> growthOf(const std::vector<StepMemory>& steps);

struct RankGrowth {
    RankId rank;
    MemoryGrowth growth;
};
/// Whether a rank's memory may grow, without its events: what grows is highest late, and what comes
/// back in each step mostly early. True where the peak lies in the second half of the rank's steps.
[[nodiscard]] bool mayGrow(const RankEvents& events, const std::vector<StepFacts>& steps);

// What a peak of memory consists of, block by block: who asked for them, and what the recording
// does not explain.
//
// Blocks alive at the peak, summed up by owner, category, layer and phase of their allocation.
// Unexplained = peak - their sum, so that all of it adds up to the peak to the byte: blocks whose
// allocation was thinned out of the file, or that share an address.

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
