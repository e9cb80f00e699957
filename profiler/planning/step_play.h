// How long a step takes whose tasks are known, by playing them: one thread that computes and waits,
// and a link for each group of ranks, on which collectives take turns. All ranks do the same at the
// same time, so that nobody waits for a late one. Pure functions.
#pragma once

#include "profiler/planning/step_schedule.h"
#include "storage/model/units.h"

#include <functional>
#include <vector>

namespace shardscope::planning {

struct StepCosts {
    std::function<Duration(const StepTask&)> computing;  ///< of kCompute
    std::function<Duration(const StepTask&)> moving;     ///< of kAsk, on a free link
    Duration wake;  ///< from the end of a collective until who waited for it goes on
    Duration rest;  ///< of a step, in which its thread does something else
};

struct PlayedStep {
    Duration time;
    Duration computing;  ///< of it, rest and all
    Duration waiting;    ///< of it: communication that nothing hides
    Duration moving;     ///< of the links, those of groups added up
};

/// The last of the steps that `tasks` has (stepTasks); play three or more, so that what one leaves
/// to the next is as it always is.
[[nodiscard]] PlayedStep playStep(const std::vector<StepTask>& tasks, const StepCosts& costs);
inline constexpr std::int32_t kPlayedSteps = 3;

}  // namespace shardscope::planning
