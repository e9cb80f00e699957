// How a run goes on after it has lost a host (--restart).
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::cli {

/// The run on the hosts that are left: from the newest checkpoint, or from the beginning where
/// there is none yet, into a separate recording (run-restart1.sscope beside run.sscope). Free
/// slots of the other hosts are filled; else there are as many ranks fewer. An error (kLaunch, or
/// kUsage by the rules of runs) says why it cannot be.
Result<run::RunConfig> withoutHost(const run::RunConfig& config, std::int32_t lostHost);

/// What is said of it, in the log and in its recording.
std::string restartText(const run::RunConfig& before, const run::RunConfig& after,
                        std::int32_t lostHost);

}  // namespace shardscope::cli
