#include "engine/run/config/run_settings.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/memory/memory_steps.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/memory_tables.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::RankMemory;
using analysis::StepMemory;

Cell knownBytes(bool known, Bytes bytes) {
    return known ? Cell(bytes.count) : Cell();
}

Table rankTable(const std::vector<RankMemory>& ranks) {
    Table table{
        "ranks",
        "Peak of each rank",
        {{"rank", "rank"},
         {"peak_bytes", "peak", Unit::kBytes, "The most that was alive at once."},
         {"peak_time_ns", "at", Unit::kNanoseconds, "On the recording's clock."},
         {"theory_bytes", "theory", Unit::kBytes, "Predicted for what the allocator holds."},
         {"unexplained_bytes", "unexplained", Unit::kSignedBytes,
          "Bytes of the peak that the allocator held - theory."}},
        {}};
    for (const RankMemory& rank : ranks) {
        const bool predicted = rank.known && rank.theory.count > 0;
        table.rows.push_back({std::int64_t{rank.rank.value}, knownBytes(rank.known, rank.peak),
                              rank.known ? Cell(rank.peakTime.ns) : Cell(),
                              knownBytes(predicted, rank.theory),
                              predicted ? Cell(rank.managed().count - rank.theory.count) : Cell()});
    }
    return table;
}

Table categoryTable(const std::vector<RankMemory>& ranks) {
    Table table{"categories",
                "At the peak, by category",
                {{"rank", "rank"},
                 {"category", "category"},
                 {"bytes", "size", Unit::kBytes},
                 {"theory_bytes", "theory", Unit::kBytes, "At the peak that theory predicts."}},
                {}};
    for (const RankMemory& rank : ranks)
        for (const MemoryCategory category : kAll<MemoryCategory>) {
            const auto at = static_cast<std::size_t>(category);
            if (rank.byCategory[at].count == 0 && rank.theoryByCategory[at].count == 0) continue;
            table.rows.push_back({std::int64_t{rank.rank.value}, toWord(category),
                                  rank.byCategory[at].count,
                                  knownBytes(rank.theory.count > 0, rank.theoryByCategory[at])});
        }
    return table;
}

void addSteps(RankId rank, const std::vector<StepMemory>& steps, Table& table) {
    for (const StepMemory& step : steps)
        table.rows.push_back({std::int64_t{rank.value}, stepCell(step.step), step.peak.count,
                              toWord(step.peakPhase), layerCell(step.peakLayer), step.left.count});
}

/// From before the first step on.
Result<std::vector<MemoryEvent>> readEvents(const Asked& asked, RankId rank) {
    return asked.reader.memoryEvents(
        rank, {kBeginningOfTime, asked.selection.timeOf(asked.summary, rank).end});
}

/// By step, and whether what is left grows; of the worst rank by phase and layer as well.
Result<void> addOverTime(const Asked& asked, RankId worst, Answer& answer) {
    Table table{"steps",
                "By step",
                {{"rank", "rank"},
                 {"step", "step"},
                 {"peak_bytes", "peak", Unit::kBytes},
                 {"peak_phase", "in phase", Unit::kNone, "Of the allocation that reached it."},
                 {"peak_layer", "in layer"},
                 {"left_bytes", "left", Unit::kBytes, "Alive at the step's end."}},
                {}};
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = readEvents(asked, rank.rank);
        if (!events) return failure(events);
        if (events->empty()) continue;
        const std::vector<StepFacts> own = stepsWithMemory(asked.summary, rank.rank);
        const auto steps = analysis::stepMemory(*events, own);
        if (rank.rank == worst)
            answer.tables.push_back(phaseTable(analysis::phaseMemory(*events, own)));
        if (asked.perStep) addSteps(rank.rank, steps, table);
        const auto growth = analysis::growthOf(steps);
        if (growth && growth->grows)
            answer.sentences.push_back(fmt::format(
                "Memory of rank {} grows: {} more at the end of a step than of the one before, {} "
                "in all.",
                rank.rank.value, bytesText(growth->perStep), bytesText(growth->all)));
    }
    if (!table.rows.empty()) answer.tables.push_back(std::move(table));
    return {};
}

/// Other ways to run the same training, and what they would need.
Table alternatives(const run::RunConfig& config) {
    Table table{"fits_if",
                "What would need less, by theory",
                {{"change", "change"},
                 {"peak_bytes", "peak", Unit::kBytes, "Predicted, of the rank that needs most."},
                 {"saved_bytes", "saved", Unit::kBytes, "Less than as it was run, by theory."}},
                {}};
    const std::int64_t now = theory::total(theory::memoryTheory(config)).count;
    const auto add = [&](const char* change, const run::RunConfig& other) {
        if (!run::validate(other)) return;
        const std::int64_t peak = theory::total(theory::memoryTheory(other)).count;
        if (peak < now) table.rows.push_back({change, peak, now - peak});
    };
    run::RunConfig other = config;
    other.recomputeEvery = 1;
    add("recompute every block (--recompute-every 1)", other);
    other = config;
    other.batch = config.batch / 2;
    other.accumulate = config.accumulate * 2;
    if (config.batch % 2 == 0) add("half the batch, twice the micro-steps", other);
    other = config;
    other.strategy = run::Strategy::kZero3;
    other.shardRanks = 0;
    if (config.ranks > 1) add("shard everything (--strategy zero3)", other);
    other = config;
    other.precision = run::Precision::kBFloat16;
    add("compute in bf16 (--precision bf16)", other);
    return table;
}

}  // namespace

Result<Answer> askMemory(const Asked& asked) {
    Answer answer;
    if (Table table = parameterTable(asked.summary); !table.rows.empty())
        answer.tables.push_back(std::move(table));
    std::vector<RankMemory> ranks;
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        RankMemory memory = analysis::rankMemory(asked.summary, *events);
        if (memory.known)
            ranks.push_back(memory);
        else
            answer.unknown.push_back(analysis::withHow(
                fmt::format("memory of rank {} unknown: no memory events were recorded",
                            rank.rank.value),
                asked.summary, analysis::Lack::kMemory));
    }
    if (ranks.empty()) return answer;
    const auto worst =
        std::max_element(ranks.begin(), ranks.end(),
                         [](const RankMemory& a, const RankMemory& b) { return a.peak < b.peak; });
    answer.tables.push_back(rankTable(ranks));
    answer.tables.push_back(categoryTable(ranks));
    const auto holders = readHolders(asked.reader, *worst);
    if (!holders) return failure(holders);
    answer.tables.push_back(holderTable(*holders));
    if (auto added = addOverTime(asked, worst->rank, answer); !added) return failure(added);
    if (auto added = addAllocators(asked, ranks, answer); !added) return failure(added);
    if (const auto config = run::parseRunConfigJson(asked.summary.run.configJson))
        answer.tables.push_back(alternatives(run::withChosenKernels(*config, asked.summary.facts)));
    else
        answer.unknown.emplace_back(
            "what would need less is unknown: the recording does not say how "
            "the model was trained");
    return answer;
}

}  // namespace shardscope::questions
