// What `shardscope plan` prints of time: how long steps take, and how they scale.
#pragma once

#include "profiler/planning/model_plan.h"
#include "profiler/questions/answer.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace shardscope::cli {

/// One behind another, after an empty line.
[[nodiscard]] std::string moreTable(const questions::Table& table, bool markdown);

/// A table of the plans that have a forecast, and what it rests on; empty: none has.
[[nodiscard]] std::string timeText(const planning::ModelPlanInput& input,
                                   const std::vector<planning::StrategyPlan>& plans, bool markdown);

/// Tables up to `most` ranks, of the strategy that was asked for or is recommended: weak scaling,
/// and strong where ranks divide the batch. A sentence where the link is not known.
[[nodiscard]] std::string projectionText(const planning::ModelPlanInput& input,
                                         const std::vector<planning::StrategyPlan>& plans,
                                         std::int32_t most, bool markdown);

/// Adds to a strategy's row what timeTable() says of it: step_ns, low_ns, high_ns, tokens_per_s,
/// waiting_pct, bound_by, balance_tokens; all null without a forecast.
void addTime(nlohmann::ordered_json& row, const planning::StrategyPlan& plan);

/// {"strategy", "weak": [...], "strong": [...]}
[[nodiscard]] nlohmann::ordered_json projectionJson(
    const planning::ModelPlanInput& input, const std::vector<planning::StrategyPlan>& plans,
    std::int32_t most);

}  // namespace shardscope::cli
