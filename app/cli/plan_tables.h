// What `shardscope plan` prints.
#pragma once

#include "app/cli/plan_more_tables.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

struct PlanTexts {
    bool markdown = false;
    bool explain = false;        ///< formulas and their sources
    bool fitsOn = false;         ///< a second table, of devices
    bool limits = false;         ///< largest batch and context, fewest ranks
    bool flops = false;          ///< by part, and as others count them
    bool divisions = false;      ///< by tensors and stages, as theory
    std::int32_t mostRanks = 0;  ///< tables of how it scales up to so many; 0: none
};

/// Of a model by the number of its parameters, and how it may be divided where its shape is known.
struct ParameterPlan {
    planning::ParameterPlanInput input;
    std::optional<DivisionInput> divisions;
};
/// Of a model that the engine trains.
struct ModelPlan {
    planning::ModelPlanInput input;
    DivisionInput divisions;
};

[[nodiscard]] std::string planText(const ParameterPlan& plan, const PlanTexts& texts);
[[nodiscard]] std::string planText(const ModelPlan& plan, const PlanTexts& texts);

// Schema shardscope.plan/1.
[[nodiscard]] std::string planJson(const ParameterPlan& plan, const PlanTexts& texts = {});
[[nodiscard]] std::string planJson(const ModelPlan& plan, const PlanTexts& texts = {});

}  // namespace shardscope::cli
