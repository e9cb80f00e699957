// What the session sees of processes and of the traces that they write; behind an interface, so
// that tests can make processes up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch::kineto {

/// A process's number among the ranks, by the variable that says it.
struct RankWord {
    std::string variable;  ///< "RANK", "SLURM_PROCID"
    std::int32_t rank = 0;
    friend bool operator==(const RankWord&, const RankWord&) = default;
};

/// A process by /proc. Variables are those that it was started with.
struct ProcessLook {
    std::uint64_t startTicks = 0;  ///< 0: it is gone, or not seen from here
    uid_t user = 0;
    std::string command;
    std::vector<pid_t> ancestors;  ///< parent first
    bool readable = false;         ///< whether its variables could be read
    std::optional<RankWord> rank;
    std::int32_t localRank = -1;  ///< on its host; -1: not said
    std::int32_t localRanks = 0;  ///< of its program on its host; 0: not said
    std::int32_t ranks = 0;       ///< of its program
    bool wantsDaemon = false;     ///< KINETO_USE_DAEMON
    std::string socketFolder;     ///< KINETO_IPC_SOCKET_DIR
    std::string traceFolder;      ///< KINETO_ONDEMAND_TRACE_DIR
};

/// A trace that a process was asked for.
struct TraceLook {
    bool exists = false;
    bool whole = false;      ///< its JSON is closed
    bool hasWork = false;    ///< operators or kernels; looked for in whole ones
    std::int64_t steps = 0;  ///< runs of an optimizer in it; likewise
    std::int64_t firstStepNs = 0, lastStepNs = 0;  ///< begin of these, by the trace's clock
};

class ProcessEyes {
public:
    virtual ~ProcessEyes() = default;
    [[nodiscard]] virtual ProcessLook look(pid_t pid) const;
    [[nodiscard]] virtual bool isAlive(pid_t pid, std::uint64_t startTicks) const;
    /// Whether PyTorch is loaded in it.
    [[nodiscard]] virtual bool hasTorch(pid_t pid) const;
    /// Those that descend from `root`, it not included.
    [[nodiscard]] virtual std::vector<pid_t> descendants(pid_t root) const;
    [[nodiscard]] virtual TraceLook trace(const std::string& path) const;
    /// Gives a whole trace another name, which nothing writes to any more; the name that it has.
    [[nodiscard]] virtual std::string keep(const std::string& path) const;
};

}  // namespace shardscope::launch::kineto
