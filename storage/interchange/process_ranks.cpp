#include "storage/interchange/process_ranks.h"

#include <algorithm>
#include <tuple>

namespace shardscope::interchange {
namespace {

/// GPUs of the largest machines, sliced by MIG.
constexpr std::size_t kMostRanks = 64;

void insertSome(std::set<std::int64_t>& set, std::int64_t value) {
    if (set.size() <= kMostRanks) set.insert(value);
}

}  // namespace

void ProcessRanks::addDevice(std::int64_t process, std::int64_t device, bool kernel) {
    if (m_processes.size() >= kMostProcesses && !m_processes.contains(process)) return;
    Process& facts = m_processes[process];
    insertSome(kernel ? facts.kernels : facts.others, device);
}

void ProcessRanks::addHost(std::int64_t process) {
    if (process != kUnknownProcess && m_processes.size() < kMostProcesses)
        m_processes.try_emplace(process);
}

Result<void> ProcessRanks::settle(RankId first, const std::string& path) {
    const auto withDevices =
        std::count_if(m_processes.begin(), m_processes.end(),
                      [](const auto& process) { return !process.second.devices().empty(); });
    if (withDevices > 1) m_processes.erase(kUnknownProcess);
    const bool anyDevice = withDevices > 0;
    for (const auto& [process, facts] : m_processes) {
        if (facts.devices().empty() && !anyDevice) m_entries.push_back({{}, process, std::nullopt});
        for (const std::int64_t device : facts.devices())
            m_entries.push_back({{}, process, device});
    }
    if (m_entries.empty()) m_entries.push_back({});
    if (m_entries.size() > kMostRanks)
        return failure(ErrorCode::kUnreadable,
                       path + " names more than " + std::to_string(kMostRanks) +
                           " processes and devices that would be ranks: it is damaged, or no "
                           "export of one machine");
    const auto lowest = [&](const Entry& entry) {
        return entry.device ? *m_processes.at(entry.process).devices().begin() : 0;
    };
    std::stable_sort(m_entries.begin(), m_entries.end(), [&](const Entry& a, const Entry& b) {
        return std::tuple(lowest(a), a.process, a.device) <
               std::tuple(lowest(b), b.process, b.device);
    });
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        m_entries[i].rank = {first.value + static_cast<std::uint32_t>(i)};
        m_first.try_emplace(m_entries[i].process, i);
        if (m_entries[i].device) m_devices[{m_entries[i].process, *m_entries[i].device}] = i;
    }
    return {};
}

const ProcessRanks::Entry& ProcessRanks::of(std::int64_t process) const {
    const auto at = m_first.find(process);
    return m_entries[at == m_first.end() ? 0 : at->second];
}

std::vector<RankId> ProcessRanks::othersOf(const Entry& first) const {
    std::vector<RankId> others;
    for (const Entry& entry : m_entries)
        if (entry.process == first.process && entry.rank != first.rank)
            others.push_back(entry.rank);
    return others;
}

const ProcessRanks::Entry& ProcessRanks::of(std::int64_t process, std::int64_t device) const {
    const auto at = m_devices.find({process, device});
    return at == m_devices.end() ? of(process) : m_entries[at->second];
}

}  // namespace shardscope::interchange
