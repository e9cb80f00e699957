// A job of Slurm's: what is submitted, what becomes of it, and how it is ended. By Slurm's own
// programs (sbatch, scontrol, scancel), which have to be in PATH.
//
// Each call that names a program starts it and waits for it. The main thread, which spawn() needs.
#pragma once

#include "storage/model/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch {

struct SlurmState {
    std::string word;    ///< "PENDING", "RUNNING", ... as Slurm says it
    std::string reason;  ///< why it waits or ended so; "None" where there is none
    std::string nodes;   ///< where it runs; empty: nowhere yet
    int exitCode = 0;    ///< of the batch script, once it is over
    int signal = 0;      ///< that ended it; 0: none

    [[nodiscard]] bool isPending() const { return word == "PENDING" || word == "CONFIGURING"; }
    [[nodiscard]] bool isOver() const;
    friend bool operator==(const SlurmState&, const SlurmState&) = default;
};

/// Of one line of `scontrol show job -o`; nothing where it has none.
[[nodiscard]] std::optional<SlurmState> parseSlurmState(std::string_view text);

/// A batch script that runs `words` once for each of the job's tasks. `token`: what its tasks have
/// in common besides (TaskPlace::identity).
[[nodiscard]] std::string slurmScript(const std::vector<std::string>& words,
                                      const std::string& token);

/// A text of options as a shell would take it apart; quotes keep blanks together. kUsage when a
/// quote has no end.
[[nodiscard]] Result<std::vector<std::string>> optionWords(std::string_view text);

/// The job's number. Its output goes to `output` with %j for the number. kLaunch with sbatch's
/// words when it refuses.
Result<std::string> submitToSlurm(const std::string& script,
                                  const std::vector<std::string>& options,
                                  const std::string& output);

/// Nothing: Slurm has forgotten the job (MinJobAge). kLaunch when its controller does not answer.
Result<std::optional<SlurmState>> slurmStateOf(const std::string& job);

/// To all tasks of a running job.
Result<void> interruptSlurmJob(const std::string& job);
/// Ends it whatever it does.
Result<void> cancelSlurmJob(const std::string& job);

}  // namespace shardscope::launch
