// When steps of a recording were. Pure.
#pragma once

#include "storage/model/recording.h"

#include <optional>
#include <vector>

namespace shardscope {

/// From the first start to the last end of steps `first` to `last`, both included, on `ranks`;
/// none: on all. Nothing: there is no such step.
[[nodiscard]] std::optional<TimeRange> timeOfSteps(const std::vector<StepFacts>& steps,
                                                   StepIndex first, StepIndex last,
                                                   const std::vector<RankId>& ranks);

}  // namespace shardscope
