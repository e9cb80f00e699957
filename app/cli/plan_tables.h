// What `shardscope plan` prints.
#pragma once

#include "profiler/planning/parameter_plan.h"

#include <string>
#include <vector>

namespace shardscope::cli {

struct PlanTexts {
    bool markdown = false;
    bool explain = false;  ///< formulas and their sources
};

[[nodiscard]] std::string planText(const planning::ParameterPlanInput& input,
                                   const std::vector<planning::StrategyPlan>& plans,
                                   const PlanTexts& texts);
/// Schema shardscope.plan/1.
[[nodiscard]] std::string planJson(const planning::ParameterPlanInput& input,
                                   const std::vector<planning::StrategyPlan>& plans);

}  // namespace shardscope::cli
