// The hosts of a run: agents on each, whether it is this machine or reached through ssh.
#pragma once

#include "app/cli/run_progress.h"
#include "app/cli/run_requests.h"
#include "engine/launch/run_supervisor.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::cli {

/// What runs as a rank here: beside this program, or named by SHARDSCOPE_RANK_PROGRAM.
[[nodiscard]] std::string rankProgram();

/// Threads that were left automatic: this host's cores divided by the ranks, all of them here.
/// Ranks of several hosts are each given their part by their own agent.
void settleThreads(run::RunConfig& config);

/// What a run of `config` asks its agents for; its recording's clock starts when this returns.
/// Other hosts are connected to and have the program when this returns; an agent here starts with
/// the run. kLaunch when a host cannot be had, with what each lacks; kInterrupted when `signals`
/// ask to stop meanwhile. Where a launcher has started `tasks`, their hosts are those of the run.
Result<launch::RunRequest> requestRun(const run::RunConfig& config, SignalRequests& signals,
                                      RunProgress& progress, launch::TaskMeeting* tasks = nullptr);

}  // namespace shardscope::cli
