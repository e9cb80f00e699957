#include "engine/launch/program/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

namespace shardscope::launch {
namespace {

constexpr std::size_t kMostCommandBytes = 300;
/// Others' numbers may be given to processes of ours: they are read again every so many looks.
constexpr std::uint64_t kLooksBetween = 30;

std::string contentOf(const std::string& path, std::size_t most) {
    std::string text(most, '\0');
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// Fields of /proc/PID/stat from the third on, which stand behind the program's name; proc(5).
std::array<std::int64_t, 50> fieldsOf(std::string_view stat) {
    std::array<std::int64_t, 50> fields{};
    const std::size_t end = stat.rfind(')');
    if (end == std::string_view::npos) return fields;
    std::string_view rest = stat.substr(std::min(stat.size(), end + 2));
    for (std::size_t field = 3; field < fields.size() && !rest.empty(); ++field) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        std::from_chars(rest.data(), rest.data() + blank, fields[field]);
        rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    return fields;
}

constexpr std::size_t kParentField = 4, kUserTicksField = 14, kSystemTicksField = 15,
                      kStartField = 22, kResidentField = 24;

}  // namespace

ProcessTree::ProcessTree(pid_t root, std::string proc) : m_proc(std::move(proc)) {
    add(root);
}

void ProcessTree::add(pid_t pid) {
    if (has(pid)) return;
    auto process = read(pid);
    if (!process) return;
    describe(*process);
    m_alive.emplace(pid, std::move(*process));
}

std::optional<TreeProcess> ProcessTree::read(pid_t pid) const {
    const std::string text = contentOf(m_proc + "/" + std::to_string(pid) + "/stat", 1024);
    if (text.empty()) return std::nullopt;
    static const std::int64_t kTickNs = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    static const std::int64_t kPageBytes = ::sysconf(_SC_PAGESIZE);
    const auto fields = fieldsOf(text);
    TreeProcess process;
    process.pid = pid;
    process.parent = static_cast<pid_t>(fields[kParentField]);
    process.startTicks = static_cast<std::uint64_t>(fields[kStartField]);
    process.cpuNs = (fields[kUserTicksField] + fields[kSystemTicksField]) * kTickNs;
    process.resident = process.peakResident = {fields[kResidentField] * kPageBytes};
    return process;
}

void ProcessTree::describe(TreeProcess& process) const {
    const std::string folder = m_proc + "/" + std::to_string(process.pid);
    process.command = contentOf(folder + "/cmdline", kMostCommandBytes);
    std::replace(process.command.begin(), process.command.end(), '\0', ' ');
    while (process.command.ends_with(' ')) process.command.pop_back();
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) == 0) process.user = facts.st_uid;
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

std::vector<TreeProcess> ProcessTree::look() {
    if (m_looks++ % kLooksBetween == 0) m_others.clear();
    std::map<pid_t, TreeProcess> now;
    std::vector<TreeProcess> fresh;
    for (const pid_t pid : numbers()) {
        const auto known = m_alive.find(pid);
        if (known == m_alive.end() && m_others.contains(pid)) continue;
        auto process = read(pid);
        if (!process) continue;
        if (known != m_alive.end() && known->second.startTicks == process->startTicks) {
            TreeProcess& same = known->second;
            process->peakResident.count =
                std::max(process->resident.count, same.peakResident.count);
            process->user = same.user;
            // exec() makes another program of it.
            describe(*process);
            if (process->command.empty()) process->command = same.command;
            now.emplace(pid, std::move(*process));
        } else {
            fresh.push_back(std::move(*process));
        }
    }
    // Numbers wrap around: a child may come before its parent.
    for (bool found = true; found;) {
        found = false;
        for (TreeProcess& each : fresh) {
            if (each.pid == 0 || (!now.contains(each.parent) && !m_alive.contains(each.parent)))
                continue;
            describe(each);
            now.emplace(each.pid, each);
            each.pid = 0;
            found = true;
        }
    }
    for (const TreeProcess& each : fresh)
        if (each.pid != 0) m_others.emplace(each.pid, each.startTicks);
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

}  // namespace shardscope::launch
