// What plans and tunings come to, as tables with a meaning for each column: command line and window
// show the same. Pure functions.
#pragma once

#include "profiler/planning/fits_on.h"
#include "profiler/planning/forecast.h"
#include "profiler/planning/model_parallel.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/strategy_plan.h"
#include "profiler/questions/answer/answer.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {

/// Of a device: as data sheets and options say it, and in the unit of these tables: "80 GB (74.5
/// GiB)".
[[nodiscard]] std::string memoryText(Bytes memory);
/// Memory, traffic, whether it fits, and why.
[[nodiscard]] Table strategyTable(const std::vector<planning::StrategyPlan>& plans);
/// How far each goes in the memory.
[[nodiscard]] Table limitsTable(const std::vector<planning::StrategyLimits>& limits);
/// How long a step takes; rows of plans without a forecast say why alone, to scripts.
[[nodiscard]] Table timeTable(const std::vector<planning::StrategyPlan>& plans);
/// The same for people, of each plan without a forecast: "DDP, flat: step time unknown: no ...".
[[nodiscard]] std::vector<std::string> timesUnknown(
    const std::vector<planning::StrategyPlan>& plans);
[[nodiscard]] Table projectionTable(const std::vector<planning::ProjectionRow>& rows,
                                    planning::Scaled scaled);
/// Where an efficiency is above 100 %, why, and what of that is uncertain; else empty.
[[nodiscard]] std::string aboveLinear(const std::vector<planning::ProjectionRow>& rows,
                                      const planning::PlanTimes& times);
/// Not empty.
[[nodiscard]] Table fitsOnTable(const std::vector<planning::FitsOnDevice>& devices);
[[nodiscard]] Table divisionTable(const std::vector<planning::DividedPlan>& plans,
                                  std::optional<Bytes> memory);
/// FLOPs of matrix products, of a token.
[[nodiscard]] Table flopsTable(const run::ModelConfig& model);
[[nodiscard]] Table flopsVariantTable(const run::ModelConfig& model);

inline constexpr const char* kTuneSchema = "shardscope.tune/1";

/// Of a tuning, without rows: a run each, in their order.
[[nodiscard]] inline Table tunePathTable() {
    return {"path",
            "Runs in their order",
            {{"settings", "settings"},
             {"expected_tokens_per_s", "expected", Unit::kTokensPerSecond,
              "Before it was run: the forecast from the first run, corrected by what others took "
              "against theirs."},
             {"tokens_per_s", "measured", Unit::kTokensPerSecond, "Of the median step."},
             {"against_start_pct", "against the start", Unit::kChange},
             {"best", "best"}},
            {}};
}

}  // namespace shardscope::questions
