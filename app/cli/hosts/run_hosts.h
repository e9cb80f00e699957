// The hosts of a run, chosen by flags: agents on each, whether it is this machine or reached
// through ssh.
#pragma once

#include "app/cli/command.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_requests.h"
#include "engine/launch/run_supervisor.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <string_view>

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

/// A host file's text; what names no file stands for itself.
[[nodiscard]] Result<std::string> hostText(const std::string& fileOrList);

/// Of settings that a run file or a checkpoint, `place`, has given: the host file that they name
/// may have nothing run either. `source` as for run::checkCommands(); kUsage.
[[nodiscard]] Result<void> checkHostFile(const run::RunConfig& config, const run::MayRun& mayRun,
                                         const std::string& place, std::string_view source);

/// Flags that choose among the hosts of a run, and what hosts make of its other settings.
class HostFlags {
public:
    /// *this outlives the app's parsing.
    void addTo(CLI::App& app);

    /// Reads the host file, takes the chosen hosts, and fills in what they decide: the number of
    /// ranks unless it was given, and how many ranks share a model with hsdp.
    Result<void> settle(run::RunConfig& config, bool ranksGiven) const;

private:
    [[nodiscard]] Result<void> choose(run::RunConfig& config) const;

    std::string m_include, m_exclude;
};

}  // namespace shardscope::cli
