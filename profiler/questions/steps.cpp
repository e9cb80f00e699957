#include "profiler/analysis/findings.h"
#include "profiler/analysis/ledger.h"
#include "profiler/questions/cells.h"
#include "profiler/questions/questions.h"

#include <fmt/format.h>

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
        table.columns.push_back(
            {analysis::toKey(part), toWord(part), Unit::kNanoseconds, analysis::definition(part)});
    return table;
}

std::vector<Cell> rowOf(RankId rank, std::int64_t second, Duration wall,
                        const analysis::LedgerParts& parts) {
    std::vector<Cell> row{std::int64_t{rank.value}, second, wall.ns};
    for (const Duration part : parts) row.emplace_back(part.ns);
    return row;
}

}  // namespace

Result<Answer> askSteps(const Asked& asked) {
    Answer answer;
    Table sums =
        ledgerTable("ranks", "Where the steps of each rank went, all of them together", false);
    Table each = ledgerTable("steps", "Where each step went", true);
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        const std::vector<LedgerRow> rows = analysis::rankLedger(asked.summary, *events);
        if (rows.empty()) {
            answer.untold.push_back(fmt::format(
                "could not tell where the steps of rank {} went: no phases of it were recorded",
                rank.rank.value));
            continue;
        }
        sums.rows.push_back(rowOf(rank.rank, static_cast<std::int64_t>(rows.size()),
                                  analysis::sumOfWalls(rows), analysis::sumOfParts(rows)));
        if (!asked.perStep) continue;
        for (const LedgerRow& row : rows)
            each.rows.push_back(rowOf(row.rank, row.step.value, row.wall, row.parts));
    }
    if (!sums.rows.empty()) answer.tables.push_back(std::move(sums));
    if (!each.rows.empty()) answer.tables.push_back(std::move(each));
    return answer;
}

}  // namespace shardscope::questions
