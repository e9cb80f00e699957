#include "engine/launch/program/process_tree.h"

#include "engine/launch/program/proc_files.h"
#include "storage/model/process_facts.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace shardscope::launch {
namespace {

/// Others' numbers may be given to processes of ours: they are read again every so many looks.
constexpr std::uint64_t kLooksBetween = 30;
constexpr std::size_t kMostEnvironmentBytes = 1 << 20;

/// Program and arguments, without half a character at the end.
std::string commandOf(std::string text) {
    if (text.size() == kMostCommandBytes)
        while (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    while (text.ends_with(' ')) text.pop_back();
    return text;
}

/// Counts are in ticks of 10 ms: less time than this says nothing.
constexpr std::int64_t kShortestNs = 100'000'000;

}  // namespace

ProcessTree::ProcessTree(pid_t root, std::string marker, std::string proc)
    : m_marker(std::move(marker)), m_proc(std::move(proc)) {
    add(root);
    if (has(root)) m_rootTicks = m_alive.at(root).startTicks;
}

void ProcessTree::add(pid_t pid) {
    if (has(pid)) return;
    auto process = read(pid);
    if (!process) return;
    describe(*process);
    m_alive.emplace(pid, std::move(*process));
}

std::string ProcessTree::folderOf(pid_t pid) const {
    return m_proc + "/" + std::to_string(pid);
}

std::optional<TreeProcess> ProcessTree::read(pid_t pid) const {
    const std::string text = procText(folderOf(pid) + "/stat", 2048);
    if (text.empty()) return std::nullopt;
    static const std::int64_t kTickNs = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    static const std::int64_t kPageBytes = ::sysconf(_SC_PAGESIZE);
    ProcStat stat = procStat(text);
    TreeProcess process;
    process.pid = pid;
    process.parent = static_cast<pid_t>(stat.fields[ProcStat::kParent]);
    process.startTicks = static_cast<std::uint64_t>(stat.fields[ProcStat::kStart]);
    process.name = std::move(stat.name);
    process.zombie = stat.state == 'Z' || stat.state == 'X';
    process.cpuNs =
        (stat.fields[ProcStat::kUserTicks] + stat.fields[ProcStat::kSystemTicks]) * kTickNs;
    process.resident = process.peakResident = {stat.fields[ProcStat::kResidentPages] * kPageBytes};
    return process;
}

/// What need not be known of processes that are none of the program.
void ProcessTree::describe(TreeProcess& process) const {
    const std::string folder = folderOf(process.pid);
    process.command = commandOf(procText(folder + "/cmdline", kMostCommandBytes));
    const std::int64_t peak = statusNumber(procText(folder + "/status", 8192), "VmHWM") * 1024;
    process.peakResident.count = std::max(process.peakResident.count, peak);
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) == 0) process.user = facts.st_uid;
}

/// exec() makes another program of it; one that has ended has no command any more.
void ProcessTree::follow(const TreeProcess& known, TreeProcess& now) const {
    describe(now);
    now.parent = known.parent;
    now.peakResident = std::max(now.peakResident, known.peakResident);
    if (now.command.empty()) now.command = known.command;
    if (now.zombie) now.user = known.user;
}

bool ProcessTree::isMarked(const TreeProcess& process) const {
    if (m_marker.empty() || process.startTicks < m_rootTicks) return false;
    return hasEntry(procText(folderOf(process.pid) + "/environ", kMostEnvironmentBytes), m_marker);
}

std::vector<pid_t> ProcessTree::numbers() const {
    std::vector<pid_t> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(m_proc.c_str()), &::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        pid_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

/// Numbers wrap around: a child may come before its parent.
void ProcessTree::adopt(std::map<pid_t, TreeProcess>& strangers, Processes& now) const {
    // A parent may have ended since its child was read; a stranger with its number is another one.
    const auto isOurs = [&](const TreeProcess& process) {
        return now.contains(process.parent) ||
               (m_alive.contains(process.parent) && !strangers.contains(process.parent));
    };
    for (bool found = true; found;) {
        found = false;
        for (auto each = strangers.begin(); each != strangers.end();) {
            if (isOurs(each->second) || isMarked(each->second)) {
                describe(each->second);
                now.insert(strangers.extract(each++));
                found = true;
            } else {
                ++each;
            }
        }
    }
}

std::vector<TreeProcess> ProcessTree::look() {
    if (m_looks++ % kLooksBetween == 0) m_others.clear();
    Processes now, strangers;
    for (const pid_t pid : numbers()) {
        const auto known = m_alive.find(pid);
        if (known == m_alive.end() && m_others.contains(pid)) continue;
        auto process = read(pid);
        if (!process) continue;
        const bool same = known != m_alive.end() && known->second.startTicks == process->startTicks;
        if (same) follow(known->second, *process);
        (same ? now : strangers).emplace(pid, std::move(*process));
    }
    adopt(strangers, now);
    for (const auto& [pid, process] : strangers) m_others.emplace(pid, process.startTicks);
    return settle(std::move(now));
}

std::vector<TreeProcess> ProcessTree::settle(Processes now) {
    std::vector<TreeProcess> ended;
    for (auto& [pid, process] : m_alive) {
        const auto still = now.find(pid);
        if (still != now.end() && still->second.startTicks == process.startTicks) continue;
        m_endedCpuNs += process.cpuNs;
        ended.push_back(std::move(process));
    }
    m_alive = std::move(now);
    return ended;
}

Bytes ProcessTree::resident() const {
    Bytes all;
    for (const auto& [pid, process] : m_alive) all.count += process.resident.count;
    return all;
}

std::int64_t ProcessTree::cpuNs() const {
    std::int64_t all = m_endedCpuNs;
    for (const auto& [pid, process] : m_alive) all += process.cpuNs;
    return all;
}

void ProcessLoads::look(const std::map<pid_t, TreeProcess>& alive, std::int64_t nowNs) {
    const std::int64_t passedNs = m_lookedNs ? nowNs - *m_lookedNs : 0;
    if (m_lookedNs && passedNs < kShortestNs) return;
    m_all.reset();
    std::map<pid_t, Seen> now;
    for (const auto& [pid, process] : alive) {
        Seen seen{process.startTicks, process.cpuNs, {}};
        const auto before = m_seen.find(pid);
        if (before != m_seen.end() && before->second.startTicks == process.startTicks) {
            seen.cores = static_cast<double>(process.cpuNs - before->second.cpuNs) /
                         static_cast<double>(passedNs);
            m_all = m_all.value_or(0) + *seen.cores;
        }
        now.emplace(pid, seen);
    }
    m_seen = std::move(now);
    m_lookedNs = nowNs;
}

std::optional<double> ProcessLoads::cores(pid_t pid) const {
    const auto found = m_seen.find(pid);
    return found != m_seen.end() ? found->second.cores : std::nullopt;
}

}  // namespace shardscope::launch
