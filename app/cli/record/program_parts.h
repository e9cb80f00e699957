// `shardscope record -- CMD` in several parts: in each task of a launcher, or on each of --hosts.
#pragma once

#include "app/cli/record/record_options.h"
#include "app/cli/record/run_progress.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <optional>

namespace shardscope::cli {

/// Which task of a launcher this process is; nothing: none. The program keeps the variables that
/// ranks of our own do without.
Result<std::optional<launch::TaskPlace>> programTask(RecordOptions& options);

/// Runs the program as this task's: task 0 records them all, and each gives its own program's
/// status.
Result<RunEnd> recordTaskOfProgram(const run::RunConfig& config, const RecordOptions& options,
                                   const launch::TaskPlace& task, RunProgress& progress);

/// Runs the program once on each of --hosts; the status is that of the first that did not end well.
Result<RunEnd> recordProgramOnHosts(RecordOptions& options, RunProgress& progress);

}  // namespace shardscope::cli
