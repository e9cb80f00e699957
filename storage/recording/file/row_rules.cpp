#include "storage/recording/file/row_rules.h"

#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/row_sql.h"

#include <limits>
#include <span>
#include <string_view>

namespace shardscope::storage {
namespace {

/// Sums and differences of two such times never overflow.
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 61;

std::string outside(const std::string& column, std::int64_t least, std::int64_t most) {
    return column + " NOT BETWEEN " + std::to_string(least) + " AND " + std::to_string(most);
}

std::string listOf(std::span<const std::int64_t> numbers) {
    std::string list;
    for (const std::int64_t number : numbers)
        list.append(list.empty() ? "" : ",").append(std::to_string(number));
    return list;
}

/// What the type of a member allows.
void addType(const std::string& column, const Shape& shape, std::vector<RowRule>& rules) {
    const std::string has = "has " + column + " {" + column + "}";
    const auto within = [&](auto least, auto most) {
        rules.push_back(
            {outside(column, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)),
             has + ", which cannot be"});
    };
    if (shape.kind == Shape::Kind::kOptional) {
        addType(column, *shape.of, rules);
    } else if (&shape == &kShape<Timestamp>) {
        within(-kTimeLimit, kTimeLimit);
    } else if (shape.isEnum) {
        const std::string all = listOf(shape.values);
        rules.push_back({column + " NOT IN (" + all + ")", has + ", which is none of " + all});
    } else if (shape.isNumber() && !shape.isReal() && shape.size < sizeof(std::int64_t)) {
        withNumber(shape.kind, [&]<class T>(Of<T>) {
            within(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
        });
    }
}

template <TableRow Row>
TableRules rulesOf() {
    const Table& table = tableOf<Row>();
    TableRules rules{table.name, table.row, table.since, false, {}};
    for (const Field& column : table.columns.list) {
        addType(column.name, *column.shape, rules.rules);
        rules.ofRanks |= column.name == std::string_view("rank");
    }
    return rules;
}

TableRules ofRun() {
    TableRules run = rulesOf<RunFacts>();
    run.rules.push_back(
        {outside("world_size", 0, kMostRanks), "claims to be of {world_size} ranks"});
    run.rules.push_back({"finalised<>0 AND ended_ns IS NULL", "is finalised but has no end"});
    // There is one, and no other to put in its place.
    for (RowRule& rule : run.rules) rule.taken = false;
    return run;
}

TableRules ofRanks() {
    TableRules ranks = rulesOf<RankFacts>();
    ranks.ofRanks = false;  // they are the ranks
    ranks.rules.push_back(
        {"dropped NOT BETWEEN 0 AND emitted", "dropped more events than it produced", false});
    ranks.rules.push_back(
        {"host NOT IN (SELECT host FROM hosts)", "runs on host {host}, which has no row", false});
    return ranks;
}

TableRules ofSteps() {
    TableRules steps = rulesOf<StepFacts>();
    steps.rules.push_back({"end_ns < start_ns", "ends before it starts"});
    // Numbers need not ascend in time: a profiler that is started again may count from 0. Of two
    // that overlap the first is taken for damaged, and what still overlaps then.
    steps.rules.push_back(
        {"(step, rank) IN (SELECT step, rank FROM (SELECT step, rank, end_ns, lead(start_ns)"
         " OVER (PARTITION BY rank ORDER BY start_ns, end_ns) AS next FROM steps)"
         " WHERE end_ns > next)",
         ""});
    steps.rules.push_back(
        {"(step, rank) IN (SELECT step, rank FROM (SELECT step, rank, start_ns, max(end_ns)"
         " OVER (PARTITION BY rank ORDER BY start_ns, end_ns"
         " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM steps)"
         " WHERE before > start_ns)",
         "starts before the one before it ends"});
    return steps;
}

TableRules ofDetail() {
    TableRules detail = rulesOf<DetailFacts>();
    detail.rules.push_back(
        {"last_step < first_step OR end_ns < start_ns", "end before they begin"});
    detail.rules.push_back({"level >= " + std::to_string(static_cast<int>(CaptureLevel::kFull)),
                            "are said to be held whole"});
    detail.rules.push_back({"removed < 0", "lost {removed} events"});
    return detail;
}

TableRules ofCollectives() {
    const auto word = [](const std::string& column, const std::string& words) {
        return RowRule{column + " NOT IN (" + words + ")",
                       "has an unknown word: " + column + " {" + column + "}"};
    };
    return {"collectives",
            "collective {sequence} of rank {rank}",
            0,
            true,
            {{"end_ns < start_ns OR last_arrival_ns > end_ns", "has times out of order"},
             {"length(arrivals) % 8 <> 0", "has half an arrival"},
             word("operation", wordsSql<CollectiveOp>()),
             word("dtype", wordsSql<DataType>()),
             word("cause", wordsSql<Cause>()),
             {outside("start_ns", -kTimeLimit, kTimeLimit), "has start_ns {start_ns}"},
             {outside("end_ns", -kTimeLimit, kTimeLimit), "has end_ns {end_ns}"}}};
}

/// Those of a host are of rank -1.
TableRules ofFacts() {
    TableRules facts = rulesOf<FactRow>();
    facts.ofRanks = false;
    return facts;
}

/// Most are of rank -1.
TableRules ofProcesses() {
    TableRules processes = rulesOf<ProcessFacts>();
    processes.ofRanks = false;
    processes.rules.push_back(
        {outside("rank", -1, kMostRanks - 1), "has rank {rank}, which cannot be"});
    processes.rules.push_back({"ended_ns < started_ns", "ends before it starts"});
    return processes;
}

/// One may be about a rank that never said a word.
TableRules ofDiagnostics() {
    TableRules diagnostics = rulesOf<Diagnostic>();
    diagnostics.ofRanks = false;
    return diagnostics;
}

}  // namespace

const std::vector<TableRules>& tableRules() {
    static const std::vector<TableRules> kAll = {
        ofRun(),
        rulesOf<HostFacts>(),
        rulesOf<ClockFacts>(),
        ofRanks(),
        rulesOf<DeviceFacts>(),
        rulesOf<LaneFacts>(),
        {"strings", "text {id} of rank {rank}", 0, true, {}},
        {"arguments", "row {id}", 2, true, {}},
        ofDetail(),
        ofSteps(),
        ofCollectives(),
        rulesOf<MetricPoint>(),
        rulesOf<MemoryTheory>(),
        ofFacts(),
        ofProcesses(),
        ofDiagnostics()};
    return kAll;
}

std::vector<std::string> columnsIn(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1))
        names.push_back(text.substr(at + 1, text.find('}', at) - at - 1));
    return names;
}

}  // namespace shardscope::storage
