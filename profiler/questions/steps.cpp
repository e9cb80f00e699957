#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/steps/ledger.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_pieces.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::LedgerPart;
using analysis::LedgerRow;

Table ledgerTable(const char* key, const char* title, bool perStep) {
    Table table{key, title, {{"rank", "rank"}}, {}};
    if (perStep) table.columns.push_back({"step", "step"});
    if (!perStep) table.columns.push_back({"steps", "steps", Unit::kCount});
    table.columns.push_back(
        {"wall_ns", "wall", Unit::kNanoseconds, "The parts add up to it exactly."});
    for (const LedgerPart part : kAll<LedgerPart>)
        table.columns.push_back({analysis::toKey(part), toWord(part), Unit::kNanoseconds,
                                 analysis::definition(part), Shown::kWhereAny});
    table.columns.push_back(
        {analysis::kReductionKey, "blocked in reductions", Unit::kNanoseconds,
         "Blocked in reduce-scatters and in all-reduces; included in other parts.",
         Shown::kToScripts});
    if (perStep)
        table.columns.push_back({"core_wait_ns", "core wait", Unit::kNanoseconds,
                                 "Of the step thread, as recorded; of steps split by phases the "
                                 "part \"waiting for a core\" is the same. Empty where unknown.",
                                 Shown::kToScripts});
    return table;
}

/// By rank and step; of those of which it is known.
std::map<std::pair<RankId, StepIndex>, Duration> coreWaits(const RecordingSummary& summary) {
    std::map<std::pair<RankId, StepIndex>, Duration> waits;
    for (const StepFacts& step : summary.steps)
        if (step.coreWaitNs >= 0) waits[{step.rank, step.step}] = {step.coreWaitNs};
    return waits;
}

std::vector<Cell> rowOf(RankId rank, std::int64_t second, Duration wall,
                        const analysis::LedgerParts& parts) {
    std::vector<Cell> row{std::int64_t{rank.value}, second, wall.ns};
    for (const Duration part : parts) row.emplace_back(part.ns);
    row.emplace_back(analysis::blockedInReductions(parts).ns);
    return row;
}

struct Ledger {
    std::vector<LedgerRow> rows;
    std::vector<std::string> unknown;
};

void addUnknown(RankId rank, const RankEvents& events, const analysis::DeviceTimeline& device,
                std::vector<std::string>& unknown) {
    const auto unlaunched =
        std::count_if(device.work.begin(), device.work.end(),
                      [](const analysis::DeviceWork& work) { return !work.launch; });
    if (unlaunched > 0)
        unknown.push_back(fmt::format(
            "what the device of rank {} was idle for before {} of {} kernels and "
            "copies (counted as other) is unknown: the calls that launched them were not recorded",
            rank.value, unlaunched, device.work.size()));
    const bool arrivals =
        events.communicationKernels.empty() ||
        std::any_of(events.collectives.begin(), events.collectives.end(),
                    [](const CollectiveEvent& event) { return event.arrivals.size() > 1; });
    if (!arrivals)
        unknown.push_back(
            fmt::format("waiting for the slowest rank and moving data cannot be separated in "
                        "collectives of rank "
                        "{}, all of which counts as moving: ranks' arrivals were not recorded",
                        rank.value));
}

bool hasDevice(const RecordingSummary& summary, RankId rank) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(), [rank](const LaneFacts& lane) {
        return lane.rank == rank && isStreamLane(lane.lane) &&
               (lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication);
    });
}

/// Idle time of a device can be for work behind the selection: its ledger is made from everything.
Result<Ledger> ledgerOf(const Asked& asked, const RecordingSummary& detailed, RankId rank) {
    const TimeRange whole{asked.summary.bounds.begin, {asked.summary.bounds.end.ns + 1}};
    auto events = hasDevice(asked.summary, rank)
                      ? readRank(asked.reader, asked.summary, rank, whole)
                      : asked.events(rank);
    if (!events) return failure(events);
    if (!analysis::ranKernels(*events)) return Ledger{analysis::rankLedger(detailed, *events), {}};
    const auto device = readDevice(asked.reader, asked.summary, *events);
    if (!device) return failure(device);
    Ledger ledger;
    ledger.rows =
        analysis::rankLedger(detailed, *events, analysis::deviceLedger(detailed, *events, *device));
    if (!ledger.rows.empty()) addUnknown(rank, *events, *device, ledger.unknown);
    return ledger;
}

std::string noRows(const Asked& asked, RankId rank) {
    const bool steps = std::any_of(asked.summary.steps.begin(), asked.summary.steps.end(),
                                   [rank](const StepFacts& step) { return step.rank == rank; });
    return fmt::format(
        "where the steps of rank {} went is unknown: {}", rank.value,
        steps ? analysis::withHow("neither phases nor kernels of it lie in its steps",
                                  asked.summary, analysis::Lack::kPhases)
        : asked.selection.cutsTime()
            ? "no whole step of it lies in the selection"
            : analysis::withHow("it has no steps", asked.summary, analysis::Lack::kSteps));
}

}  // namespace

Result<Answer> askSteps(const Asked& asked) {
    Answer answer;
    Table sums =
        ledgerTable("ranks", "Where the steps of each rank went, all of them together", false);
    Table each = ledgerTable("steps", "Where each step went", true);
    const auto waits = coreWaits(asked.summary);
    const analysis::DetailedPart part = asked.detailed(answer);
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto ledger = ledgerOf(asked, part.of(asked.summary), rank.rank);
        if (!ledger) return failure(ledger);
        const std::vector<LedgerRow>& rows = ledger->rows;
        answer.unknown.insert(answer.unknown.end(), ledger->unknown.begin(), ledger->unknown.end());
        if (rows.empty()) {
            answer.unknown.push_back(noRows(asked, rank.rank));
            continue;
        }
        sums.rows.push_back(rowOf(rank.rank, static_cast<std::int64_t>(rows.size()),
                                  analysis::sumOfWalls(rows), analysis::sumOfParts(rows)));
        if (!asked.perStep) continue;
        for (const LedgerRow& row : rows) {
            auto& cells =
                each.rows.emplace_back(rowOf(row.rank, row.step.value, row.wall, row.parts));
            const auto wait = waits.find({row.rank, row.step});
            cells.push_back(wait == waits.end() ? Cell() : Cell(wait->second.ns));
        }
    }
    if (!sums.rows.empty()) answer.tables.push_back(std::move(sums));
    if (!each.rows.empty()) answer.tables.push_back(std::move(each));
    return answer;
}

}  // namespace shardscope::questions
