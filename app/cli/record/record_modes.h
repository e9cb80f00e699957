// What `shardscope record` does besides a run of its own training from its beginning.
#pragma once

#include "app/cli/record/record_options.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardscope::cli {

// `shardscope record -o run.sscope -- CMD ARG...`: runs any program and records what it can of it.

/// The program's exit status, or 128 + the signal that ended it; 2 where the command line asks for
/// something impossible, or that of a launch::StartObstacle.
int recordProgram(RecordOptions& options);

// `shardscope record --kineto -o run.sscope -- CMD ARG...`: a window of any PyTorch program, with
// nothing of ours in its processes.

/// As recordProgram(): the program's exit status.
int recordKineto(const RecordOptions& options);

// `shardscope record --dry-run`: what each rank would hold, and whether that fits here.

/// `available`: host memory that can be had now; nothing when it is not known, as for a GPU's or
/// other hosts'.
[[nodiscard]] std::string dryRunText(const run::RunConfig& config, std::optional<Bytes> available);
[[nodiscard]] std::string dryRunJson(const run::RunConfig& config, std::optional<Bytes> available);

/// Prints one of them for this machine.
int runDry(const run::RunConfig& config, bool json);

// How a run goes on after it has lost a host (--restart).

/// The run on the hosts that are left: from the newest checkpoint, or from the beginning where
/// there is none yet, into a separate recording (run-restart1.sscope beside run.sscope). Free
/// slots of the other hosts are filled; else there are as many ranks fewer. An error (kLaunch, or
/// kUsage by the rules of runs) says why it cannot be.
Result<run::RunConfig> withoutHost(const run::RunConfig& config, std::int32_t lostHost);

/// What is said of it, in the log and in its recording.
std::string restartText(const run::RunConfig& before, const run::RunConfig& after,
                        std::int32_t lostHost);

}  // namespace shardscope::cli
