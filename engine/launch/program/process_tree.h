// The processes of a program: its first one, what that started, and so on, as /proc tells them.
//
// A process that was seen once stays one of the program, also when its parent has ended. One whose
// parents had all ended before they were seen is known by its environment. One that lives for less
// than the time between two looks may never be seen. One thread.
#pragma once

#include "storage/model/units.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardscope::launch {

struct TreeProcess {
    pid_t pid = 0;
    pid_t parent = 0;              ///< when it was seen first
    std::uint64_t startTicks = 0;  ///< since boot; with the number it names a process for good
    std::string name;              ///< of its first thread, as the kernel has it; 15 bytes
    std::string command;           ///< program and arguments, cut
    uid_t user = 0;
    bool zombie = false;     ///< it has ended, and its parent has not asked how
    std::int64_t cpuNs = 0;  ///< user and system time of all its threads
    Bytes resident;
    Bytes peakResident;  ///< as the kernel says; else of the times it was looked at
};

class ProcessTree {
public:
    /// `root` need not be a child of ours. `marker`: "NAME=value", a variable that only processes
    /// of the program have; empty: there is none. `proc`: for tests.
    explicit ProcessTree(pid_t root, std::string marker = {}, std::string proc = "/proc");

    /// Looks at all of them; those that have ended since are handed out once.
    std::vector<TreeProcess> look();
    /// One of the program, whatever started it.
    void add(pid_t pid);

    [[nodiscard]] const std::map<pid_t, TreeProcess>& alive() const { return m_alive; }
    [[nodiscard]] bool has(pid_t pid) const { return m_alive.contains(pid); }
    /// Of those alive.
    [[nodiscard]] Bytes resident() const;
    /// Of all that were seen.
    [[nodiscard]] std::int64_t cpuNs() const;

private:
    using Processes = std::map<pid_t, TreeProcess>;

    [[nodiscard]] std::optional<TreeProcess> read(pid_t pid) const;
    [[nodiscard]] std::vector<pid_t> numbers() const;
    [[nodiscard]] std::string folderOf(pid_t pid) const;
    [[nodiscard]] bool isMarked(const TreeProcess& process) const;
    void describe(TreeProcess& process) const;
    void follow(const TreeProcess& known, TreeProcess& now) const;
    void adopt(std::map<pid_t, TreeProcess>& strangers, Processes& now) const;
    std::vector<TreeProcess> settle(Processes now);

    std::string m_marker;
    std::string m_proc;
    std::uint64_t m_rootTicks = 0;
    Processes m_alive;
    /// Of others: when they were started. They are not read again at each look.
    std::unordered_map<pid_t, std::uint64_t> m_others;
    std::uint64_t m_looks = 0;
    std::int64_t m_endedCpuNs = 0;
};

/// How much processor time they take: between two looks at them.
class ProcessLoads {
public:
    /// `nowNs`: of any clock that only goes forwards.
    void look(const std::map<pid_t, TreeProcess>& alive, std::int64_t nowNs);

    /// Processor time per time; nullopt before the second look at it.
    [[nodiscard]] std::optional<double> cores(pid_t pid) const;
    /// Of all that were there at both looks.
    [[nodiscard]] std::optional<double> all() const { return m_all; }

private:
    struct Seen {
        std::uint64_t startTicks = 0;
        std::int64_t cpuNs = 0;
        std::optional<double> cores;
    };
    std::map<pid_t, Seen> m_seen;
    std::optional<std::int64_t> m_lookedNs;
    std::optional<double> m_all;
};

}  // namespace shardscope::launch
