// What recordings say to `plan` of how fast ranks compute and what joins them.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/planning/model_plan.h"
#include "storage/model/result.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct PlanRecordings {
    run::RunConfig config;  ///< of the first, without its hosts, files and modelled link
    std::optional<planning::PlanTimes> times;  ///< none: no recording says how long steps take
    std::vector<std::string> untimed;          ///< why not, a sentence each recording
};

/// At least one. The first whose link is known says what it is. Errors, which name the recording,
/// are of those that say nothing of memory either.
Result<PlanRecordings> readPlanRecordings(const std::vector<std::string>& paths);

}  // namespace shardscope::cli
