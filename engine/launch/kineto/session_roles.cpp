// Which processes are ranks, what became of each, and why others are missing.
#include "engine/launch/kineto/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace shardscope::launch::kineto {
namespace {

/// Programs and modules that start ranks and import PyTorch for it.
constexpr std::array<std::string_view, 9> kLaunchers = {
    "torchrun",  "torch.distributed.run",      "torch.distributed.launch",  "accelerate",
    "deepspeed", "accelerate.commands.launch", "deepspeed.launcher.launch", "fabric",
    "lightning"};
/// In the command of processes that ranks start for their own ends.
constexpr std::array<std::string_view, 3> kHelpers = {"torch/_inductor/compile_worker",
                                                      "multiprocessing.resource_tracker",
                                                      "multiprocessing.forkserver"};
constexpr std::int32_t kMostProcessesOfAHost = 4096;

std::string_view takeWord(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

/// The program, script or module that a command runs, without its folder: an interpreter's options
/// are passed over, and a script's arguments say nothing.
std::string_view mainWord(std::string_view command) {
    std::string_view word = takeWord(command);
    word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
    if (!word.starts_with("python")) return word;
    do word = takeWord(command);
    while (word.starts_with('-') && word != "-m" && word != "-c");
    if (word == "-m") return takeWord(command);
    return word.substr(word.rfind('/') + 1);
}

bool isPython(std::string_view command) {
    std::string_view word = takeWord(command);
    return word.substr(word.rfind('/') + 1).starts_with("python");
}

std::string titleOf(pid_t pid, const ProcessLook& look) {
    return look.command.empty() ? fmt::format("process {}", pid)
                                : fmt::format("process {} ({})", pid, look.command);
}

bool isBelow(const ProcessLook& look, pid_t pid) {
    return std::find(look.ancestors.begin(), look.ancestors.end(), pid) != look.ancestors.end();
}

}  // namespace

std::optional<Session::Role> Session::roleByName(const std::string& command) {
    if (std::find(kLaunchers.begin(), kLaunchers.end(), mainWord(command)) != kLaunchers.end())
        return Role::kLauncher;
    const bool helps = std::any_of(kHelpers.begin(), kHelpers.end(), [&](std::string_view word) {
        return command.find(word) != std::string::npos;
    });
    return helps ? std::optional(Role::kHelper) : std::nullopt;
}

Session::Role Session::roleOf(const Process& process) const {
    const ProcessLook& look = process.look;
    if (process.named) return *process.named;
    for (const auto& [pid, other] : m_processes) {
        if (pid == process.pid || other.role == Role::kLauncher) continue;
        if (!look.rank && other.look.rank && isBelow(other.look, process.pid))
            return Role::kLauncher;
        if (!look.rank || look.rank != other.look.rank) continue;
        if (isBelow(look, pid)) return Role::kHelper;
        // Of two that live, the first one; one that has ended was an attempt before.
        const bool first = other.look.startTicks < look.startTicks ||
                           (other.look.startTicks == look.startTicks && pid < process.pid);
        if (first && other.role == Role::kRank && other.state != State::kLost &&
            !isBelow(other.look, process.pid))
            return Role::kTwice;
    }
    return Role::kRank;
}

void Session::assignRoles() {
    // Launchers first: others' roles depend on them.
    for (auto& [pid, process] : m_processes)
        if (roleOf(process) == Role::kLauncher) process.role = Role::kLauncher;
    for (auto& [pid, process] : m_processes) process.role = roleOf(process);
}

std::size_t Session::rankCount() const {
    return static_cast<std::size_t>(
        std::count_if(m_processes.begin(), m_processes.end(),
                      [](const auto& each) { return each.second.role == Role::kRank; }));
}

std::size_t Session::expected() const {
    std::int32_t most = 0;
    for (const auto& [pid, process] : m_processes)
        if (process.role == Role::kRank && !isNamed(pid))
            most = std::max(most, process.look.localRanks);
    return static_cast<std::size_t>(most);
}

/// Why a process that is there, or was, has not asked.
std::string Session::whyNot(pid_t pid) const {
    const auto noted = m_others.find(pid);
    const bool known = noted != m_others.end() && noted->second.look.startTicks != 0;
    const ProcessLook look = known ? noted->second.look : m_eyes->look(pid);
    if (m_foreign.contains(pid)) return "it is another user's";
    if (look.startTicks == 0) return "there is no such process";
    if (!look.readable) return "it is another user's, or protected: its variables cannot be read";
    if (!look.wantsDaemon)
        return "KINETO_USE_DAEMON is not in its environment: sudo, ssh, srun --export=NONE and "
               "containers take it away; pass it on";
    if (look.socketFolder != m_request.socketFolder)
        return fmt::format(
            "it looks for a daemon in {}, not here: name that with --socket-dir",
            look.socketFolder.empty() ? "the machine's own place" : look.socketFolder);
    const bool hasTorch = known ? noted->second.hasTorch : m_eyes->hasTorch(pid);
    if (!hasTorch) return "it has not loaded PyTorch";
    return "it has loaded PyTorch and does not ask: its PyTorch is built without on-demand "
           "tracing, "
           "or has only just started";
}

Outcome Session::outcome() const {
    Outcome outcome;
    outcome.asked = static_cast<std::int32_t>(m_processes.size());
    for (const auto& [pid, process] : m_processes) {
        outcome.ranks = std::max(outcome.ranks, process.look.ranks);
        const std::string title = titleOf(pid, process.look);
        if (process.role == Role::kLauncher)
            outcome.notes.push_back(title + " starts ranks and is none: left out");
        else if (process.role == Role::kHelper)
            outcome.notes.push_back(title + " is a helper of a rank: left out");
        else if (process.state == State::kIdleProcess)
            outcome.notes.push_back(title + " computed nothing in the window: left out");
        else if (process.role == Role::kTwice)
            outcome.lost.push_back(
                {process.look.rank->rank, pid,
                 fmt::format("{} says as another process does that it is rank {}: name the "
                             "processes of one program",
                             process.look.rank->variable, process.look.rank->rank),
                 false});
        else if (process.state == State::kLost)
            outcome.lost.push_back(
                {process.look.rank ? std::optional(process.look.rank->rank) : std::nullopt, pid,
                 process.reason, process.ended});
    }
    addTaken(outcome);
    addMissing(outcome);
    if (!m_isAligned && outcome.taken.size() > 1)
        outcome.notes.push_back(
            "the ranks have taken different steps: what they did at the same time cannot be "
            "compared; give a --from-step that none of them has passed, or use --window");
    return outcome;
}

/// Processes that say no rank get free numbers, in the order of their start.
void Session::addTaken(Outcome& outcome) const {
    std::set<std::int32_t> used;
    std::vector<const Process*> unnumbered;
    for (const auto& [pid, process] : m_processes) {
        if (process.role != Role::kRank) continue;
        if (process.look.rank) used.insert(process.look.rank->rank);
        if (process.state != State::kTaken) continue;
        if (process.look.rank)
            outcome.taken.push_back({process.look.rank->rank, pid, process.trace,
                                     process.look.command, firstStepOf(process)});
        else
            unnumbered.push_back(&process);
    }
    std::stable_sort(unnumbered.begin(), unnumbered.end(), [](const auto* a, const auto* b) {
        return a->look.startTicks < b->look.startTicks;
    });
    std::int32_t next = 0;
    for (const Process* process : unnumbered) {
        while (!used.insert(next).second) ++next;
        outcome.taken.push_back(
            {next, process->pid, process->trace, process->look.command, firstStepOf(*process)});
    }
    if (unnumbered.size() > 1)
        outcome.notes.push_back(
            "the processes do not say which rank they are (RANK is not set): they are numbered in "
            "the order in which they were started");
    std::sort(outcome.taken.begin(), outcome.taken.end(),
              [](const Taken& a, const Taken& b) { return a.rank < b.rank; });
}

void Session::addMissing(Outcome& outcome) const {
    for (const pid_t pid : m_request.only)
        if (!m_processes.contains(pid))
            outcome.lost.push_back({std::nullopt, pid, whyNot(pid), false});
    std::set<std::int32_t> known;
    std::int32_t first = 0, count = 0;
    for (const auto& [pid, process] : m_processes) {
        if (process.role != Role::kRank || !process.look.rank) continue;
        known.insert(process.look.rank->rank);
        if (process.look.localRank < 0 || process.look.localRanks == 0) continue;
        first = process.look.rank->rank - process.look.localRank;
        count = std::min<std::int32_t>(process.look.localRanks, kMostProcessesOfAHost);
    }
    if (!m_request.only.empty()) count = 0;
    std::set<pid_t> named;
    for (std::int32_t rank = std::max(first, 0); rank < first + count; ++rank) {
        if (known.contains(rank)) continue;
        const auto other = std::find_if(m_others.begin(), m_others.end(), [&](const auto& each) {
            return each.second.look.rank && each.second.look.rank->rank == rank;
        });
        if (other != m_others.end()) named.insert(other->first);
        outcome.lost.push_back(
            {rank, other == m_others.end() ? 0 : other->first,
             other == m_others.end() ? "no process of it asked" : whyNot(other->first), false});
    }
    for (const auto& [pid, other] : m_others) {
        const bool telling = other.hasTorch || other.look.rank ||
                             (m_processes.empty() && isPython(other.look.command));
        if (!telling || named.contains(pid)) continue;
        // A child of a rank has its variables, and PyTorch where it was forked.
        const bool below = std::any_of(
            m_processes.begin(), m_processes.end(), [&, &look = other.look](const auto& each) {
                return isBelow(look, each.first) && each.second.role == Role::kRank;
            });
        if (!below)
            outcome.lost.push_back(
                {other.look.rank ? std::optional(other.look.rank->rank) : std::nullopt, pid,
                 titleOf(pid, other.look) + ": " + whyNot(pid), false});
    }
    for (const pid_t pid : m_foreign)
        if (!isNamed(pid))
            outcome.notes.push_back(fmt::format("process {} is another user's: left out", pid));
}

}  // namespace shardscope::launch::kineto
