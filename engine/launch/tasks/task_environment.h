// Which task of a launcher this process is, by the variables that torchrun, Open MPI's mpirun,
// Slurm's srun or a plain environment (Kubernetes operators, scripts) give each task.
//
// Pure functions of those variables. `docs/remote.md` has the table of what is read.
#pragma once

#include "storage/model/result.h"
#include "storage/model/words.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::launch {

enum class Launcher : std::uint8_t { kTorchrun = 1, kMpirun, kSlurm, kEnvironment };
struct LauncherWords {
    Launcher value;
    const char* word;     ///< of --launched-by
    const char* name;     ///< in sentences
    const char* passing;  ///< how its tasks are given a secret
};
constexpr auto wordsOf(Launcher) {
    return wordList<LauncherWords>(
        {{Launcher::kTorchrun, "torchrun", "torchrun",
          "set SHARDSCOPE_TASK_TOKEN to the same random word on every host before torchrun (one "
          "from `openssl rand -hex 16`), or give torchrun --rdzv-id such a word"},
         {Launcher::kMpirun, "mpirun", "mpirun",
          "`export SHARDSCOPE_TASK_TOKEN=$(openssl rand -hex 16)` and add -x SHARDSCOPE_TASK_TOKEN "
          "to mpirun's options"},
         {Launcher::kSlurm, "slurm", "srun",
          "`export SHARDSCOPE_TASK_TOKEN=$(openssl rand -hex 16)` before srun, or let `shardscope "
          "record --slurm` do that"},
         {Launcher::kEnvironment, "environment", "the environment",
          "set SHARDSCOPE_TASK_TOKEN to the same random word for all tasks (one from `openssl rand "
          "-hex 16`; in Kubernetes from a Secret, by env.valueFrom.secretKeyRef), or "
          "MASTER_ADDR=localhost if all tasks are on this host"}});
}

/// By name. LOCAL_RANK and what a launcher does not set are simply absent.
using Variables = std::map<std::string, std::string>;

struct TaskPlace {
    Launcher launcher = Launcher::kEnvironment;
    std::int32_t rank = 0;  ///< of the task, from 0
    std::int32_t size = 1;  ///< tasks of the run
    /// By which tasks of one node know each other; empty: by its host name.
    std::string node;
    /// Where rank 0's task is met: a name or an address, and a port. Empty: all tasks are on one
    /// host, and nothing listens on any network.
    std::string address;
    std::int32_t port = 0;
    /// Alike on all tasks of this run and on no others: what the launcher calls it. Not secret.
    std::string identity;
    /// Known to this run's tasks only: kTaskToken's value, or torchrun's run id where a user has
    /// chosen it. Empty: none.
    std::string secret = {};

    [[nodiscard]] bool onOneHost() const { return address.empty(); }
    [[nodiscard]] bool isFirst() const { return rank == 0; }
    friend bool operator==(const TaskPlace&, const TaskPlace&) = default;
};

/// A user's own secret of a run, which its tasks have in common (a variable that is not passed on).
inline constexpr const char* kTaskToken = "SHARDSCOPE_TASK_TOKEN";
/// What torchrun calls the run.
inline constexpr const char* kTorchrunId = "TORCHELASTIC_RUN_ID";

/// Nothing: no launcher started this process, or one that started it alone. `by` names who did, so
/// that a lone task is one too. kUsage, saying what to set, when variables contradict each other or
/// some are missing.
Result<std::optional<TaskPlace>> taskOf(const Variables& variables,
                                        std::optional<Launcher> by = std::nullopt);

/// The first host of a list as Slurm writes it: "node[03-05,9],big1" is node03.
[[nodiscard]] std::string firstOfNodeList(std::string_view list);

}  // namespace shardscope::launch
