// What `record` and `verify` ask an agent on this machine for.
#pragma once

#include "engine/launch/run_supervisor.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::cli {

/// What runs as a rank: beside this program, or named by SHARDSCOPE_RANK_PROGRAM.
[[nodiscard]] std::string rankProgram();

/// Threads that were left automatic: this host's cores divided by the ranks, all of them here.
void settleThreads(run::RunConfig& config);

/// An error (kLaunch) when there is no program to run as a rank.
Result<launch::RunRequest> localRun(const run::RunConfig& config, std::int64_t originNs);

}  // namespace shardscope::cli
