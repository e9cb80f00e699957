// A rank's memory step by step: the most it held in each, what was left at its end, and whether
// that grows.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
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

}  // namespace shardscope::analysis
