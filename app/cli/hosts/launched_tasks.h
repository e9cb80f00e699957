// A run whose tasks a launcher has started: torchrun, mpirun, srun, or anything that sets
// their environment. Rank 0's task records, the others serve it.
#pragma once

#include "app/cli/command.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_requests.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/launch/tasks/task_secret.h"
#include "engine/run/config/run_config.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

class RecordOptions;

/// What the command line says of tasks that a launcher has started.
struct TaskOptions {
    std::string launchedBy;  ///< empty: nothing
    launch::TaskTrust trust;

    /// --launched-by, --task-token-file, --trust-network.
    void addTo(CLI::App& app);
};

/// Which task this process is, by its environment and the command line, and the secret that it
/// shares with the others; nothing: none. Takes the tasks' token out of the environment, which is
/// recorded.
Result<std::optional<launch::TaskPlace>> ownTask(const TaskOptions& options);

/// To the end of the run, whose exit status it gives. Only what rank 0's task cannot hear is said
/// here. `own`: the run that this task's command line asks for, when it is to start an agent.
int serveTask(const launch::TaskPlace& task, const std::function<Result<run::RunConfig>()>& own);

/// All tasks of the run, and their hosts, as rank 0's has met them.
struct LaunchedTasks {
    launch::Launcher by = launch::Launcher::kEnvironment;
    std::vector<launch::TaskHost> hosts;

    /// Ranks and hosts of the run are those that were started: a rank a task or, with one task a
    /// host, as many of `ranks` on each. kUsage where `ranks` (given on the command line) cannot
    /// be.
    [[nodiscard]] Result<void> settle(run::RunConfig& config,
                                      std::optional<std::int32_t> ranks) const;
};

/// Before the tasks have met: as if each task were on a separate host, or all on one.
[[nodiscard]] LaunchedTasks oneAHost(const launch::TaskPlace& task);
[[nodiscard]] LaunchedTasks onOneHost(const launch::TaskPlace& task);

/// Notifies the tasks that are there, or come within ten seconds, to end with `status`: there is
/// nothing to record.
void dismissTasks(const launch::TaskPlace& task, const std::string& interface, int status,
                  launch::TaskWork work = launch::TaskWork::kRanks);

/// Of the recording, where tasks on several hosts have proved no secret.
[[nodiscard]] Diagnostic trustedNetworkNote();

/// Meets all other tasks and says so. `interface`: where; empty: where MASTER_ADDR says.
Result<launch::TaskMeeting> meetTasks(const launch::TaskPlace& task, const std::string& interface,
                                      const launch::TaskMeeting::GoOn& goOn, RunProgress& progress,
                                      launch::TaskWork work = launch::TaskWork::kRanks);

// `shardscope record --slurm OPTIONS`: a job of Slurm's that does the run, followed to its end.

/// Submits, prints what the job waits for and passes on what it says; gives the exit status of the
/// run. SIGINT and SIGTERM: once stops it after the step, twice cancels the job.
int recordBySlurm(RecordOptions& options);

}  // namespace shardscope::cli
