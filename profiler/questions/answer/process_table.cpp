#include "profiler/questions/answer/process_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace shardscope::questions {
namespace {

using Children = std::map<std::size_t, std::vector<std::size_t>>;
/// By host, number and start, which no two share.
using ByNumber = std::map<std::tuple<std::int32_t, std::int64_t, Timestamp>, std::size_t>;

constexpr int kMostDepth = 100;  // of what a damaged file may claim

std::vector<std::size_t> byStart(const std::vector<ProcessFacts>& processes) {
    std::vector<std::size_t> order(processes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t index) {
        const ProcessFacts& process = processes[index];
        return std::tuple(process.host, process.started, process.pid);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
}

/// Of several that had the parent's number the last that had started by then.
std::optional<std::size_t> parentOf(const ByNumber& byNumber, const ProcessFacts& child) {
    auto after = byNumber.upper_bound({child.host, child.parent, child.started});
    if (after == byNumber.begin()) return std::nullopt;
    const auto& [key, index] = *--after;
    const bool isIt = std::get<0>(key) == child.host && std::get<1>(key) == child.parent;
    return isIt && child.parent != child.pid ? std::optional(index) : std::nullopt;
}

class Placing {
public:
    Placing(const Children& children, std::size_t count) : m_children(children), m_done(count) {}

    /// It, and all that it started.
    void place(std::size_t outermost) {
        std::vector<PlacedProcess> next{{outermost, 0}};
        while (!next.empty()) {
            const PlacedProcess each = next.back();
            next.pop_back();
            if (std::exchange(m_done[each.index], true)) continue;
            placed.push_back(each);
            const auto own = m_children.find(each.index);
            if (own == m_children.end()) continue;
            for (auto child = own->second.rbegin(); child != own->second.rend(); ++child)
                next.push_back({*child, std::min(each.depth + 1, kMostDepth)});
        }
    }

    std::vector<PlacedProcess> placed;

private:
    const Children& m_children;
    std::vector<char> m_done;
};

Cell numberCell(std::optional<std::int32_t> number) {
    return number ? Cell(std::int64_t{*number}) : Cell();
}

}  // namespace

std::vector<PlacedProcess> processTree(const std::vector<ProcessFacts>& processes) {
    ByNumber byNumber;
    for (std::size_t i = 0; i < processes.size(); ++i)
        byNumber.emplace(std::tuple(processes[i].host, processes[i].pid, processes[i].started), i);
    Children children;
    std::vector<std::size_t> outermost;
    const std::vector<std::size_t> order = byStart(processes);
    for (const std::size_t each : order) {
        const auto parent = parentOf(byNumber, processes[each]);
        (parent ? children[*parent] : outermost).push_back(each);
    }
    Placing placing(children, processes.size());
    for (const std::size_t each : outermost) placing.place(each);
    for (const std::size_t each : order) placing.place(each);  // of a damaged file: in a circle
    return std::move(placing.placed);
}

std::string processTitle(const ProcessFacts& process) {
    if (process.rank < 0) return toWord(process.role);
    if (process.attempt == 0) return fmt::format("rank {}", process.rank);
    return fmt::format("rank {}, attempt {}", process.rank, process.attempt + 1);
}

std::string processEnd(const ProcessFacts& process) {
    if (process.exitSignal) return fmt::format("signal {}", *process.exitSignal);
    if (process.exitCode) return fmt::format("exit {}", *process.exitCode);
    return process.ended ? "unknown" : "outlived the recording";
}

Table processTable(const std::vector<ProcessFacts>& processes) {
    Table table{
        "processes",
        "Processes",
        {{"process", "process", Unit::kNone, "What it was there for, below what started it."},
         {"pid", "pid", Unit::kNone, "Its number."},
         {"rank", "rank", Unit::kNone, "Whose events are recorded of it.", Shown::kToScripts},
         {"end", "end", Unit::kNone, "Exit code or signal, as far as the system says."},
         {"exit_code", "exit code", Unit::kNone, "Of exit().", Shown::kToScripts},
         {"exit_signal", "signal", Unit::kNone, "That ended it.", Shown::kToScripts},
         {"cpu_ns", "CPU time", Unit::kNanoseconds,
          "User and system time of all its threads, when it was last looked at."},
         {"peak_bytes", "peak memory", Unit::kBytes, "Most of its resident set."},
         {"command", "command", Unit::kNone, "Program and arguments, cut."},
         {"not_recorded", "not recorded", Unit::kNone,
          "Why nothing of what it did is recorded; empty: it is, or there was nothing to record.",
          Shown::kToScripts}},
        {}};
    for (const PlacedProcess& each : processTree(processes)) {
        const ProcessFacts& process = processes[each.index];
        table.rows.push_back(
            {std::string(static_cast<std::size_t>(2 * each.depth), ' ') + processTitle(process),
             process.pid, process.rank < 0 ? Cell() : Cell(std::int64_t{process.rank}),
             processEnd(process), numberCell(process.exitCode), numberCell(process.exitSignal),
             process.cpuTimeNs,
             process.peakResident.count > 0 ? Cell(process.peakResident.count) : Cell(),
             process.command, process.notRecorded.empty() ? Cell() : Cell(process.notRecorded)});
    }
    return table;
}

}  // namespace shardscope::questions
