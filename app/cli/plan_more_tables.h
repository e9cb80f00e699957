// What else `shardscope plan` prints of a model: FLOPs, rules of thumb, and models divided by
// tensors and stages, as theory.
#pragma once

#include "profiler/planning/model_parallel.h"
#include "profiler/planning/model_plan.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace shardscope::cli {

/// FLOPs by part of a model, and how others count them.
[[nodiscard]] std::string flopsText(const run::ModelConfig& model, bool markdown);
[[nodiscard]] nlohmann::ordered_json flopsJson(const run::ModelConfig& model);

/// State by rules of thumb beside the exact figure.
[[nodiscard]] std::string rulesOfThumbText(const run::RunConfig& config);

/// Divisions of a model over ranks, with what each holds and sends.
struct DivisionInput {
    planning::DividedRun run;
    std::int64_t ranks = 1;
    std::int64_t ranksOnHost = 8;
    std::optional<Bytes> memory;
    std::optional<planning::Division> only;  ///< absent: those of planDivisions()
};
[[nodiscard]] std::string divisionsText(const DivisionInput& input, bool markdown);
[[nodiscard]] nlohmann::ordered_json divisionsJson(const DivisionInput& input);

/// Every parallelism in words and a picture.
[[nodiscard]] std::string parallelismsText();

}  // namespace shardscope::cli
