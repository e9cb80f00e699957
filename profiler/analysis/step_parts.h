// How a step's time on the host splits into forward, backward and optimizer.
//
// From the phases of the step thread, or, of foreign traces, from the names of annotations and of
// autograd's spans as far as they tell it. Times are unions, so that nested names count once, and
// disjoint: what is backward by name is not forward, even if autograd ran it within. Denominator of
// shares: the sum of the parts. Pure.
#pragma once

#include "profiler/analysis/span_totals.h"
#include "storage/model/recording.h"

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

/// "Optimizer.step#SGD.step", "## forward ##", "autograd::engine::evaluate_function: ..."; none: it
/// does not tell. Setting gradients to zero is no part.
[[nodiscard]] std::optional<StepPart> partOfName(std::string_view name);

/// Ranges of each part, overlapping as they may; by StepPart.
using PartRanges = std::array<std::vector<TimeRange>, kPlaces<StepPart>>;
using PartTimes = std::array<Duration, kPlaces<StepPart>>;
/// What lies in several counts for backward, else for the optimizer, else for forward.
[[nodiscard]] PartTimes partTimes(PartRanges ranges);

/// Of a rank's phases, by step; phases that belong to none are left out.
[[nodiscard]] std::map<StepIndex, PartTimes> partTimesByStep(const RankEvents& events);

}  // namespace shardscope::analysis
