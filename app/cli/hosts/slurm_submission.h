// `shardscope record --slurm OPTIONS`: a job of Slurm's that does the run, followed to its end.
#pragma once

#include "app/cli/record/record_options.h"

namespace shardscope::cli {

/// Submits, prints what the job waits for and passes on what it says; gives the exit status of the
/// run. SIGINT and SIGTERM: once stops it after the step, twice cancels the job.
int recordBySlurm(RecordOptions& options);

}  // namespace shardscope::cli
