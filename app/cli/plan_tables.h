// What `shardscope plan` prints.
#pragma once

#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"

#include <string>
#include <vector>

namespace shardscope::cli {

struct PlanTexts {
    bool markdown = false;
    bool explain = false;  ///< formulas and their sources
    bool fitsOn = false;   ///< a second table, of devices
};

[[nodiscard]] std::string planText(const planning::ParameterPlanInput& input,
                                   const PlanTexts& texts);
[[nodiscard]] std::string planText(const planning::ModelPlanInput& input, const PlanTexts& texts);

// Schema shardscope.plan/1.
[[nodiscard]] std::string planJson(const planning::ParameterPlanInput& input,
                                   const PlanTexts& texts = {});
[[nodiscard]] std::string planJson(const planning::ModelPlanInput& input,
                                   const PlanTexts& texts = {});

}  // namespace shardscope::cli
