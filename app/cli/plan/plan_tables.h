// What `shardscope plan` prints.
#pragma once

#include "profiler/planning/model_parallel.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardscope::cli {

/// Divisions of a model over ranks, with what each holds and sends.
struct DivisionInput {
    planning::DividedRun run;
    std::int64_t ranks = 1;
    std::int64_t ranksOnHost = 8;
    std::optional<Bytes> memory;
    std::optional<planning::Division> only;  ///< absent: those of planDivisions()
};

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

/// Every parallelism in words and a picture.
[[nodiscard]] std::string parallelismsText();

// Schema shardscope.plan/1.
[[nodiscard]] std::string planJson(const ParameterPlan& plan, const PlanTexts& texts = {});
[[nodiscard]] std::string planJson(const ModelPlan& plan, const PlanTexts& texts = {});

}  // namespace shardscope::cli
