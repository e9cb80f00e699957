// Which rank each process and device of one file is, where a file holds several.
//
// A rank is a process and one device it ran kernels on, by device, then process: the processes of
// torchrun are ranks in order of their GPUs, and a process that drives several GPUs is several
// ranks. Threads of a process belong to its first rank. Work on a device that a process runs no
// kernels on (a stray context) belongs to its first rank too. Processes without a device join the
// first rank, unless no process has one: then each is a rank.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardscope::interchange {

class ProcessRanks {
public:
    /// A process that is not said: the first one.
    static constexpr std::int64_t kUnknownProcess = -1;

    void addDevice(std::int64_t process, std::int64_t device, bool kernel);
    void addHost(std::int64_t process);
    /// kUnreadable when there are more ranks than any machine has.
    Result<void> settle(RankId first, const std::string& path);

    struct Entry {
        RankId rank;
        std::int64_t process = kUnknownProcess;
        std::optional<std::int64_t> device;
    };
    [[nodiscard]] const std::vector<Entry>& entries() const { return m_entries; }
    [[nodiscard]] const Entry& of(std::int64_t process) const;
    /// Of the process's other devices: what its threads launch and mark is theirs too.
    [[nodiscard]] std::vector<RankId> othersOf(const Entry& first) const;
    [[nodiscard]] const Entry& of(std::int64_t process, std::int64_t device) const;

private:
    static constexpr std::size_t kMostProcesses = 65'536;

    struct Process {
        std::set<std::int64_t> kernels, others;  ///< devices
        [[nodiscard]] const std::set<std::int64_t>& devices() const {
            return kernels.empty() ? others : kernels;
        }
    };
    std::map<std::int64_t, Process> m_processes;
    std::vector<Entry> m_entries;
    std::map<std::int64_t, std::size_t> m_first;  ///< process to its first entry
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> m_devices;
};

}  // namespace shardscope::interchange
