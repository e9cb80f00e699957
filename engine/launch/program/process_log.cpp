#include "engine/launch/program/process_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <tuple>

namespace shardscope::launch {
namespace {

/// Rows of a recording; a program that starts more is recorded without the rest.
constexpr std::size_t kMostEntries = 20'000;
/// Each takes a descriptor of ours while its process lives.
constexpr std::size_t kMostHandles = 400;
/// A memory map of thousands of lines takes the kernel a while: often at first, then rarely.
constexpr std::uint32_t kCloseLooks = 8, kMostLooksBetween = 32;

std::int64_t nowOf(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string nameOf(const ProcessFacts& process) {
    return fmt::format("process {} ({})", process.pid,
                       process.command.empty() ? "command unknown" : process.command);
}

}  // namespace

ProcessLog::ProcessLog(pid_t root, GivenVariables given, std::int64_t originNs, std::string proc)
    : m_root(root),
      m_given(std::move(given)),
      // Ticks count from the machine's start, also while it sleeps.
      m_zeroNs(nowOf(CLOCK_BOOTTIME) - nowOf(CLOCK_MONOTONIC) + originNs),
      m_proc(std::move(proc)),
      m_tree(root, m_given.socket, m_proc) {}

ProcessLog::Entry& ProcessLog::entryOf(const TreeProcess& process) {
    const auto [at, added] = m_entries.try_emplace(Key{process.pid, process.startTicks});
    Entry& entry = at->second;
    if (added && m_handles < kMostHandles && m_tree.has(process.pid)) {
        entry.handle = openProcess(process.pid);
        if (entry.handle.valid()) ++m_handles;
    }
    entry.process = process;
    return entry;
}

/// Its number may have been given to several, one after the other.
ProcessLog::Entry& ProcessLog::newestOf(pid_t pid, bool connected) {
    Entry* newest = nullptr;
    for (auto at = m_entries.lower_bound({pid, 0}); at != m_entries.end() && at->first.first == pid;
         ++at)
        if (!connected || (at->second.connected && !at->second.said)) newest = &at->second;
    if (newest != nullptr) return *newest;
    // It ended before its connection was taken.
    if (connected) return newestOf(pid, false);
    TreeProcess unseen;
    unseen.pid = pid;
    return entryOf(unseen);
}

void ProcessLog::connected(pid_t pid) {
    m_tree.add(pid);
    const auto alive = m_tree.alive().find(pid);
    if (alive == m_tree.alive().end()) return;
    entryOf(alive->second).connected = true;
    m_hadPython = true;
}

/// What it is made of may change until it reports, or until PyTorch is there.
void ProcessLog::examine(Entry& entry) {
    if (entry.connected || entry.evidence.torch || ++entry.looks < entry.nextLook) return;
    entry.nextLook = entry.looks < kCloseLooks
                         ? entry.looks + 1
                         : entry.looks + std::min(entry.looks, kMostLooksBetween);
    const TreeProcess& process = entry.process;
    const auto found = evidenceOf(process.pid, process.user, process.command, m_given, m_proc);
    if (found.seen || !entry.evidence.seen) entry.evidence = found;
    m_hadPython = m_hadPython || found.python;
}

void ProcessLog::noteEnd(Entry& entry, Timestamp now) {
    entry.ended = entry.ended.value_or(now);
    if (!entry.handle.valid()) return;
    entry.end = knownEnd(entry.handle);
    --m_handles;
    entry.handle.reset();
}

void ProcessLog::look(Timestamp now) {
    for (const TreeProcess& ended : m_tree.look())
        if (m_entries.size() < kMostEntries) noteEnd(entryOf(ended), now);
    for (const auto& [pid, process] : m_tree.alive()) {
        if (m_entries.size() >= kMostEntries) return;
        Entry& entry = entryOf(process);
        if (process.zombie)
            entry.ended = entry.ended.value_or(now);
        else
            examine(entry);
    }
}

/// What it used is known of it alone where it waited for no other.
void ProcessLog::rootEnded(const KnownEnd& end, Timestamp time, std::int64_t cpuNs, Bytes peak) {
    m_rootCpuNs = cpuNs;
    Entry& root = newestOf(m_root, false);
    root.end = end;
    root.ended = time;
    if (m_entries.size() > 1) return;
    root.process.cpuNs = std::max(root.process.cpuNs, cpuNs);
    root.process.peakResident = std::max(root.process.peakResident, peak);
}

void ProcessLog::reported(pid_t pid, const ReportedProcess& said) {
    Entry& entry = newestOf(pid, true);
    entry.connected = true;
    entry.said = said;
    if (!entry.end.code && !entry.end.signal) entry.end = said.end;
}

std::int64_t ProcessLog::cpuNs() const {
    return std::max(m_tree.cpuNs(), m_rootCpuNs);
}

ProcessRole ProcessLog::roleOf(const Entry& entry) const {
    if (entry.said && entry.said->rank >= 0) return ProcessRole::kRank;
    const std::string& word = entry.said ? entry.said->role : std::string();
    if (const auto role = fromWord<ProcessRole>(word)) return *role;
    const ProcessRole seen = roleByCommand(entry.process.name, entry.process.command);
    return seen == ProcessRole::kOther && entry.process.pid == m_root ? ProcessRole::kProgram
                                                                      : seen;
}

std::optional<NotRecorded> ProcessLog::whyNot(const Entry& entry) const {
    if (entry.connected) return std::nullopt;
    return whyNotRecorded(entry.evidence, m_given);
}

Timestamp ProcessLog::timeOf(std::uint64_t ticks) const {
    static const std::int64_t kTickNs = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    return {static_cast<std::int64_t>(ticks) * kTickNs - m_zeroNs};
}

ProcessFacts ProcessLog::rowOf(const Entry& entry) const {
    ProcessFacts row;
    row.pid = entry.process.pid;
    row.parent = entry.process.parent;
    row.role = roleOf(entry);
    row.command = entry.process.command;
    row.started = entry.process.startTicks > 0 ? timeOf(entry.process.startTicks) : Timestamp{0};
    row.ended = entry.ended;
    if (row.ended) row.ended = std::max(*row.ended, row.started);
    row.exitCode = entry.end.code;
    row.exitSignal = entry.end.signal;
    row.cpuTimeNs = entry.process.cpuNs;
    row.peakResident = entry.process.peakResident;
    if (entry.said) {
        row.rank = entry.said->rank;
        row.attempt = entry.said->attempt;
    }
    if (const auto why = whyNot(entry)) row.notRecorded = why->reason;
    return row;
}

std::vector<ProcessFacts> ProcessLog::rows() const {
    std::vector<ProcessFacts> rows;
    for (const auto& [key, entry] : m_entries) rows.push_back(rowOf(entry));
    std::stable_sort(rows.begin(), rows.end(), [](const ProcessFacts& a, const ProcessFacts& b) {
        return std::tie(a.started, a.pid) < std::tie(b.started, b.pid);
    });
    return rows;
}

std::vector<Diagnostic> ProcessLog::diagnostics(Timestamp now) const {
    std::map<std::string, Diagnostic> byReason;
    if (m_given.socket.empty()) return {};  // said already, of all
    for (const auto& [key, entry] : m_entries) {
        const auto why = whyNot(entry);
        if (!why) continue;
        const auto [at, added] = byReason.try_emplace(
            why->reason, Diagnostic{Severity::kWarning, "not-recorded", nameOf(rowOf(entry)),
                                    why->remedy, std::nullopt, now, 0});
        ++at->second.count;
    }
    std::vector<Diagnostic> all;
    for (auto& [reason, each] : byReason) {
        each.message = each.count == 1
                           ? fmt::format("{} was not recorded: {}", each.message, reason)
                           : fmt::format("{} processes, such as {}, were not recorded: {}",
                                         each.count, each.message, reason);
        all.push_back(std::move(each));
    }
    return all;
}

}  // namespace shardscope::launch
