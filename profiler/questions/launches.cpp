#include "profiler/analysis/device/launches.h"

#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/device_work.h"
#include "profiler/questions/questions.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardscope::questions {
namespace {

using analysis::IdleCause;
using analysis::IdleCauses;
using analysis::LaunchedWork;
using analysis::LaunchTotals;
using analysis::QueueLength;

Table callTable() {
    return {"calls",
            "Calls that launched, most frequent first",
            {{"rank", "rank"},
             {"call", "call"},
             {"count", "count", Unit::kCount,
              "Calls whose work is in the recording; all that a graph launches counts as one."},
             {"call_ns", "call", Unit::kNanoseconds, "Of the host, on average."},
             {"work_ns", "work", Unit::kNanoseconds, "Of the device, on average of a call."},
             {"delay_ns", "delay", Unit::kNanoseconds,
              "From the end of the call to the start of its first work, on average; 0 where that "
              "began before."},
             {"median_delay_ns", "median", Unit::kNanoseconds, "Of the delays."},
             {"longest_delay_ns", "longest", Unit::kNanoseconds, "Of the delays."},
             {"short_work", "short", Unit::kCount,
              "Work that took less than its call, of calls up to 50 us."},
             {"slow_calls", "slow calls", Unit::kCount, "Calls of more than 50 us."},
             {"late_starts", "late starts", Unit::kCount, "Delays of more than 100 us."}},
            {}};
}

Table queueTable() {
    return {"queues",
            "Work in queue, by stream",
            {{"rank", "rank"},
             {"stream", "stream"},
             {"launches", "launches", Unit::kCount, "Whose kernel or copy is in the recording."},
             {"longest", "longest", Unit::kCount, "Most launches whose work had not begun."},
             {"mean", "mean", Unit::kNone, "The same, by time."},
             {"full_ns", "full", Unit::kNanoseconds,
              "With 1,024 or more, from where calls that launch block."},
             {"full_pct", "full", Unit::kPercent, "Of the time from first call to last start."}},
            {}};
}

Table idleTable() {
    Table table{"idle",
                "Why the device and each of its streams were idle",
                {{"rank", "rank"},
                 {"stream", "stream", Unit::kNone, "\"device\": when none of them ran anything."},
                 {"span_ns", "span", Unit::kNanoseconds, "First start to last end."},
                 {"idle_ns", "idle", Unit::kNanoseconds, "Of it; the causes add up to it."}},
                {}};
    for (const auto& cause : kWords<IdleCause>)
        table.columns.push_back({cause.key, cause.word, Unit::kNanoseconds, cause.definition});
    table.columns.push_back({"host_wait_pct", "host wait", Unit::kPercent, "Host wait / idle."});
    return table;
}

Cell shareOf(Duration part, Duration whole) {
    if (whole.ns <= 0) return {};
    return 100 * static_cast<double>(part.ns) / static_cast<double>(whole.ns);
}

void addIdle(RankId rank, const std::string& stream, const IdleCauses& causes, Table& table) {
    const Duration idle = causes.idle();
    std::vector<Cell> row{std::int64_t{rank.value}, stream, causes.span.ns, idle.ns};
    for (const IdleCause cause : kAll<IdleCause>) row.emplace_back(causes.of(cause).ns);
    row.push_back(shareOf(causes.of(IdleCause::kHost), idle));
    table.rows.push_back(std::move(row));
}

void addCalls(RankId rank, const DeviceLaunches& device, Table& table) {
    std::map<std::uint32_t, std::vector<LaunchedWork>> byName;
    for (const LaunchedWork& each : device.all)
        if (each.call) byName[each.call->name].push_back(each);
    std::vector<std::pair<std::string, LaunchTotals>> calls;
    for (const auto& [name, work] : byName)
        calls.emplace_back(device.callNames[name], analysis::launchTotals(work));
    std::stable_sort(calls.begin(), calls.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    for (const auto& [name, totals] : calls) {
        const auto mean = [&](Duration sum) {
            return static_cast<double>(sum.ns) / static_cast<double>(totals.count);
        };
        table.rows.push_back({std::int64_t{rank.value}, name, totals.count, mean(totals.calls),
                              mean(totals.work), mean(totals.delay), totals.medianDelay.ns,
                              totals.longestDelay.ns, totals.shortWork, totals.slowCalls,
                              totals.lateStarts});
    }
}

void addQueues(RankId rank, const DeviceLaunches& device, Table& table) {
    for (const auto& [stream, work] : device.streams) {
        const QueueLength queue = analysis::queueLength(work);
        if (queue.launches == 0) continue;
        table.rows.push_back({std::int64_t{rank.value}, stream, queue.launches, queue.longest,
                              cell(queue.mean()), queue.full.ns, shareOf(queue.full, queue.span)});
    }
}

void addNone(const std::vector<RankId>& without, const RecordingSummary& summary, Answer& answer) {
    constexpr const char* kWhy = "no device of it was traced, or none ran in the selection";
    if (without.size() > 1 && without.size() == summary.ranks.size())
        return answer.unknown.push_back(analysis::withHow(
            "how kernels were launched is unknown: no device was traced, or none ran in the "
            "selection",
            summary, analysis::Lack::kKernels));
    for (const RankId rank : without)
        answer.unknown.push_back(analysis::withHow(
            fmt::format("how kernels of rank {} were launched is unknown: {}", rank.value, kWhy),
            summary, analysis::Lack::kKernels));
}

void addUnknown(RankId rank, const DeviceLaunches& device, Answer& answer) {
    const auto unknown = std::count_if(device.all.begin(), device.all.end(),
                                       [](const LaunchedWork& each) { return !each.call; });
    if (unknown > 0)
        answer.unknown.push_back(
            fmt::format("what launched {} of {} kernels and copies of rank {} is unknown: the "
                        "calls are not in the recording",
                        unknown, device.all.size(), rank.value));
}

}  // namespace

Result<Answer> askLaunches(const Asked& asked) {
    Answer answer;
    Table calls = callTable(), queues = queueTable(), idle = idleTable();
    std::vector<RankId> without;
    for (const RankFacts& facts : asked.summary.ranks) {
        const auto device = readLaunches(asked, facts.rank);
        if (!device) return failure(device);
        if (device->all.empty()) {
            without.push_back(facts.rank);
            continue;
        }
        addUnknown(facts.rank, *device, answer);
        addCalls(facts.rank, *device, calls);
        addQueues(facts.rank, *device, queues);
        addIdle(facts.rank, "device", analysis::idleCauses(device->all), idle);
        for (const auto& [stream, work] : device->streams)
            addIdle(facts.rank, stream, analysis::idleCauses(work), idle);
    }
    addNone(without, asked.summary, answer);
    for (Table* table : {&idle, &calls, &queues})
        if (!table->rows.empty()) answer.tables.push_back(std::move(*table));
    return answer;
}

}  // namespace shardscope::questions
