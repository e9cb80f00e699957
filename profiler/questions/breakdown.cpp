#include "profiler/analysis/breakdown.h"

#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/hta_rows.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/read_device.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::questions {
namespace {

/// Whole where it is: HTA prints whole microseconds as such.
Cell microseconds(std::int64_t ns) {
    constexpr std::int64_t kMicrosecond = 1000;
    if (ns % kMicrosecond == 0) return ns / kMicrosecond;
    return static_cast<double>(ns) / kMicrosecond;
}

Table emptyTable() {
    return {
        "ranks",
        "By rank",
        {{"rank", "rank"},
         {"span_us", "span", Unit::kMicroseconds, "The time analysed."},
         {"idle_us", "idle", Unit::kMicroseconds, "No kernel, collective or copy at all."},
         {"compute_us", "compute", Unit::kMicroseconds, "At least one compute kernel."},
         {"communication_us", "communication", Unit::kMicroseconds,
          "At least one collective, hidden behind compute or not."},
         {"non_compute_us", "non-compute", Unit::kMicroseconds,
          "Communication or copies, and no compute."},
         {"overlap_pct", "overlap", Unit::kPercent, "Of communication, the share behind compute."}},
        {}};
}

using Row = std::vector<Cell>;

Row rowOf(const analysis::Breakdown& rank) {
    return {std::int64_t{rank.rank.value},       microseconds(rank.span.ns),
            microseconds(rank.idle.ns),          microseconds(rank.compute.ns),
            microseconds(rank.communication.ns), microseconds(rank.nonCompute.ns),
            cell(rank.overlapPercent())};
}

Row rowOf(const analysis::HtaNumbers& rank) {
    return {std::int64_t{rank.rank.value},      microseconds(rank.kernelNs),
            microseconds(rank.idleNs),          microseconds(rank.computeNs),
            microseconds(rank.communicationNs), microseconds(rank.nonComputeNs),
            cell(rank.overlapPercent)};
}

void unknownOf(const RecordingSummary& summary, RankId rank, Answer& answer) {
    const bool program = sourceOf(summary.run) == RecordingSource::kProgram;
    answer.unknown.push_back(
        analysis::withHow(fmt::format("what rank {} did is unknown: {} recorded", rank.value,
                                      program ? "no work of it in steps was"
                                              : "neither work nor communication of it was"),
                          summary, analysis::Lack::kPhases));
}

Result<void> addExact(const Asked& asked, Answer& answer) {
    Table& table = answer.tables.emplace_back(emptyTable());
    const analysis::DetailedPart part = asked.detailed(answer);
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        auto copies = copiesOf(asked.reader, asked.summary, rank.rank,
                               asked.selection.timeOf(asked.summary, rank.rank));
        if (!copies) return failure(copies);
        const auto breakdown =
            analysis::breakdownOf(part.of(asked.summary), *events, std::move(*copies));
        if (!breakdown) {
            unknownOf(asked.summary, rank.rank, answer);
            continue;
        }
        table.rows.push_back(rowOf(*breakdown));
    }
    return {};
}

Result<void> addHta(const Asked& asked, Answer& answer) {
    if (asked.selection.cutsTime())
        return failure(ErrorCode::kUsage,
                       "HTA knows no range and no steps: leave out --range and --steps, or use "
                       "--mode exact");
    const auto traces = readHtaTraces(asked.reader);
    if (!traces) return failure(traces);
    Table& table = answer.tables.emplace_back(emptyTable());
    for (const analysis::HtaNumbers& rank :
         analysis::htaCompatible(*traces, {false, asked.keepLastStep})) {
        if (!asked.selection.takes(rank.rank)) continue;
        table.rows.push_back(rowOf(rank));
    }
    for (const RankFacts& rank : asked.summary.ranks) {
        const bool listed = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
            return row.front() == Cell(std::int64_t{rank.rank.value});
        });
        if (!listed) unknownOf(asked.summary, rank.rank, answer);
    }
    return {};
}

/// A way to count on the path from HTA's numbers to the exact ones.
struct Stage {
    const char* counted;
    analysis::HtaOptions options;
    bool everything = false;  ///< work without a launch too
};
constexpr Stage kStages[] = {
    {"HTA: whole microseconds, launched work only, without the last step", {true, false}},
    {"and times as recorded", {false, false}},
    {"and the last step", {false, true}},
    {"and work whose launch is not in the trace", {false, true}, true},
};
constexpr const char* kLastStage = "exact: and classes as recorded, not by name, within the steps";

/// How HTA's numbers become the exact ones, difference by difference. `exact` by rank.
Result<void> addDifferences(const Asked& asked, const Table& exact, Answer& answer) {
    auto traces = readHtaTraces(asked.reader);
    if (!traces) return failure(traces);
    Table table = emptyTable();
    table.key = "differences";
    table.title = "From HTA's numbers to the exact ones";
    table.columns.insert(table.columns.begin(), {"counted", "counted"});
    const auto add = [&](const char* counted, Row row) {
        row.insert(row.begin(), counted);
        table.rows.push_back(std::move(row));
    };
    for (const Stage& stage : kStages) {
        if (stage.everything)  // without steps HTA leaves nothing out
            for (analysis::HtaTrace& trace : *traces) trace.steps.clear();
        for (const analysis::HtaNumbers& rank : analysis::htaCompatible(*traces, stage.options))
            if (asked.selection.takes(rank.rank)) add(stage.counted, rowOf(rank));
    }
    for (const Row& row : exact.rows) add(kLastStage, row);
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const Row& a, const Row& b) { return numberOf(a[1]) < numberOf(b[1]); });
    answer.tables.push_back(std::move(table));
    return {};
}

}  // namespace

Result<Answer> askBreakdown(const Asked& asked) {
    Answer answer;
    answer.settings = {{"mode", toWord(asked.mode)}};
    const auto done = asked.mode == Mode::kHta ? addHta(asked, answer) : addExact(asked, answer);
    if (!done) return failure(done);
    if (!asked.explain || asked.selection.cutsTime()) return answer;
    Answer exact;
    if (const auto counted = addExact(asked, exact); !counted) return failure(counted);
    const auto compared = addDifferences(asked, exact.tables.front(), answer);
    if (!compared) return failure(compared);
    return answer;
}

}  // namespace shardscope::questions
