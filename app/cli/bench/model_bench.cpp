// `bench model`: where a model's step goes: forward, backward, optimizer, by size and by precision.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/steps/step_parts.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace shardscope::cli {
namespace {

using analysis::MeanInterval;
using analysis::StepPart;
using questions::Shown;
using questions::Table;
using questions::Unit;

/// Rows of a run in the table of functions.
constexpr std::size_t kMostFunctions = 8;

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    BenchRequest settled = request;
    // Which types tensors really had is a separate table.
    settled.start.precisionReport = true;
    return settled.runs({{"model", {"small", "medium", "large", "xl", "2.7B"}},
                         {"strategy", {"single"}},
                         {"precision", {"fp32"}}},
                        CaptureLevel::kFull);
}

Table timingTable() {
    Table table{"timings", "Time of a step and its parts", {{"name", "run"}}, {}};
    append<questions::Column>(
        {{"parameters", "parameters", Unit::kCount},
         {"precision", "precision"},
         {"tokens_per_step", "tokens/step", Unit::kCount},
         {"forward_ns", "forward", Unit::kNanoseconds,
          "Forward phases of rank 0 in a step; the head's backward with them, which the engine "
          "does in "
          "one pass with its forward."},
         {"forward_deviation_ns", "deviation", Unit::kNanoseconds, "Of forward."},
         {"both_ns", "forward + backward", Unit::kNanoseconds,
          "Forward and backward phases, blocks that run forward again with them."},
         {"both_deviation_ns", "deviation", Unit::kNanoseconds, "Of forward + backward."},
         {"optimizer_ns", "optimizer", Unit::kNanoseconds, "Clipping and update."}},
        table.columns);
    append(stepColumns(), table.columns);
    append<questions::Column>({{"tokens_per_s", "throughput", Unit::kTokensPerSecond, "Mean."}},
                              table.columns);
    return table;
}

Table warmUpTable() {
    return {"warm_up",
            "What warm-up hides: the same runs with all of their steps",
            {{"name", "run"},
             {"step_ns", "step, first run", Unit::kNanoseconds,
              "Mean of the steps behind the warm-up, of the first repetition; \"step\" above is "
              "over all repetitions."},
             {"deviation_ns", "deviation", Unit::kNanoseconds,
              "Between the steps of the first repetition."},
             {"cold_step_ns", "with warm-up", Unit::kNanoseconds,
              "Mean of all its steps, as with W = 0."},
             {"cold_deviation_ns", "deviation of all", Unit::kNanoseconds, "Between its steps."},
             {"first_ns", "first step", Unit::kNanoseconds}},
            {}};
}

Table memoryTable() {
    return {"memory",
            "Memory",
            {{"name", "run"},
             {"forward_bytes", "forward peak", Unit::kBytes,
              "The most that tensors held until the last block's forward was over."},
             {"forward_theory_bytes", "by theory", Unit::kBytes, "In the last block's forward."},
             {"peak_bytes", "step's peak", Unit::kBytes},
             {"peak_theory_bytes", "peak by theory", Unit::kBytes},
             {"ratio", "measured / theory", Unit::kNone, "Of the step's peaks."}},
            {}};
}

Table functionTable() {
    return {"functions",
            "Functions that take most of the step thread's time",
            {{"name", "run"},
             {"function", "function"},
             {"count", "count", Unit::kCount, "In the measured steps of the first repetition."},
             {"total_ns", "total", Unit::kNanoseconds, "Durations, inner functions included."},
             {"self_ns", "self", Unit::kNanoseconds, "Without functions inside."},
             {"share_pct", "of self time", Unit::kPercent, "Self / the sum of all self times."}},
            {}};
}

Table typeTable() {
    return {"types",
            "Types of tensors, as they were in the first step",
            {{"name", "run"}, {"tensor", "tensor"}, {"type", "type"}, {"where", "where"}},
            {}};
}

struct Tables {
    Table timings = timingTable(), warmUp = warmUpTable(), memory = memoryTable(),
          functions = functionTable(), types = typeTable();
};

/// Of each step that counts, of rank 0.
struct PartSamples {
    std::vector<double> forward, both, optimizer;
};
PartSamples partSamples(const RunReading& reading) {
    PartSamples samples;
    if (reading.ranks.empty()) return samples;
    for (const auto& [step, times] : analysis::partTimesByStep(reading.ranks.front())) {
        const auto of = [&times = times](StepPart part) {
            return static_cast<double>(times[static_cast<std::size_t>(part)].ns);
        };
        samples.forward.push_back(of(StepPart::kForward));
        samples.both.push_back(of(StepPart::kForward) + of(StepPart::kBackward));
        samples.optimizer.push_back(of(StepPart::kOptimizer));
    }
    return samples;
}

Cell meanCell(const std::optional<MeanInterval>& mean) {
    return mean ? Cell(mean->mean) : Cell();
}
Cell deviationCell(const std::optional<MeanInterval>& mean) {
    return mean ? cellOf(mean->deviation) : Cell();
}

Result<void> addTimings(const BenchRequest& request, const RunResult& result, Table& table,
                        std::vector<PlotSeries>& series, double x) {
    std::vector<std::vector<double>> forward, both, optimizer;
    auto run = readRepeated(result, request.warmUp, [&](const RunReading& reading) {
        PartSamples samples = partSamples(reading);
        forward.push_back(std::move(samples.forward));
        both.push_back(std::move(samples.both));
        optimizer.push_back(std::move(samples.optimizer));
    });
    if (!run) return failure(run);
    const run::RunConfig& config = result.run.config;
    const auto first = analysis::meanOfRuns(forward), second = analysis::meanOfRuns(both);
    const auto step = run->mean("step.time_ns");
    std::vector<Cell> row{result.run.name,
                          theory::parameterCount(config.model),
                          toWord(config.precision),
                          theory::tokensPerStep(config),
                          meanCell(first),
                          deviationCell(first),
                          meanCell(second),
                          deviationCell(second),
                          meanCell(analysis::meanOfRuns(optimizer))};
    append(stepCells(step), row);
    row.push_back(meanCell(run->mean("throughput.tokens_per_s")));
    table.rows.push_back(std::move(row));
    std::size_t at = 0;
    for (const auto* each : {&first, &second, &step}) {
        const auto inMs = [](std::optional<double> ns) {
            return ns ? std::optional(*ns * 1e-6) : std::nullopt;
        };
        if (*each)
            series[at].points.push_back(
                {x, (*each)->mean * 1e-6, inMs((*each)->low), inMs((*each)->high)});
        ++at;
    }
    return {};
}

void addWarmUp(const std::string& name, const RunReading& warm, const RunReading& all,
               Table& table) {
    const auto samplesOf = [](const RunReading& reading) {
        const auto* figure = analysis::findFigure(reading.figures, "step.time_ns");
        return figure != nullptr ? figure->samples : std::vector<double>{};
    };
    const auto warmSamples = samplesOf(warm), allSamples = samplesOf(all);
    const auto mean = analysis::meanOf(warmSamples), cold = analysis::meanOf(allSamples);
    if (!mean || !cold) return;
    table.rows.push_back({name, mean->mean, deviationCell(mean), cold->mean, deviationCell(cold),
                          allSamples.front()});
}

void addMemory(const RunResult& result, storage::RecordingReader& reader, const RunReading& warm,
               Table& table, questions::Answer& answer) {
    const analysis::RankMemory* memory = warm.report.worstMemory();
    const auto held = momentsOf(reader, warm.whole);
    if (!held || memory == nullptr) {
        answer.unknown.push_back(
            fmt::format("memory of {} unknown: {}", result.run.name,
                        held ? "no memory events were recorded" : held.error().message));
        return;
    }
    const auto theory = theory::memoryAt(result.run.config, theory::Moment::kForward);
    const double ratio = memory->theory.count > 0 ? static_cast<double>(memory->managed().count) /
                                                        static_cast<double>(memory->theory.count)
                                                  : 0;
    table.rows.push_back({result.run.name, held->forwardPeak.count, theory::total(theory).count,
                          memory->managed().count, memory->theory.count, ratio});
}

Result<void> addFunctions(const std::string& name, storage::RecordingReader& reader,
                          const RunReading& warm, Table& table) {
    questions::Selection selection;
    selection.steps = {{warm.summary.steps.front().step, warm.summary.steps.back().step}};
    const auto answer = questions::answerTo(*questions::findQuestion("work"),
                                            questions::Asked{reader, warm.summary, selection});
    if (!answer) return failure(answer);
    for (const Table& each : answer->tables) {
        if (each.key != std::string_view("operators")) continue;
        for (std::size_t i = 0; i < std::min(kMostFunctions, each.rows.size()); ++i) {
            std::vector<Cell> row{name};
            for (const char* key : {"name", "count", "total_ns", "self_ns", "share_pct"})
                row.push_back(each.rows[i][each.columnAt(key)]);
            table.rows.push_back(std::move(row));
        }
    }
    return {};
}

/// Lines "  WHAT  TYPE  where (tensors)" of what the rank has noted.
void addTypes(const std::string& name, const RecordingSummary& summary, Table& table) {
    for (const Diagnostic& each : summary.diagnostics) {
        if (each.code != "precision-report") continue;
        std::istringstream lines(each.message);
        std::string line;
        std::getline(lines, line);
        while (std::getline(lines, line)) {
            constexpr std::size_t kWhat = 2, kType = 23, kWhere = 30;
            if (line.size() <= kWhere) continue;
            const auto trimmed = [](const std::string& text) {
                return text.substr(0, text.find_last_not_of(' ') + 1);
            };
            table.rows.push_back({name, trimmed(line.substr(kWhat, kType - kWhat)),
                                  trimmed(line.substr(kType, kWhere - kType)),
                                  line.substr(kWhere)});
        }
        return;
    }
}

Result<void> addFirst(const BenchRequest& request, const RunResult& result, Tables& tables,
                      questions::Answer& answer) {
    const std::string& recording = result.recordings.front();
    const auto warm = readRun(recording, request.warmUp);
    if (!warm) return failure(warm);
    if (request.warmUp > 0) {
        const auto all = readRun(recording, 0);
        if (!all) return failure(all);
        addWarmUp(result.run.name, *warm, *all, tables.warmUp);
    }
    auto reader = storage::openRecording(recording);
    if (!reader) return failure(reader);
    addMemory(result, **reader, *warm, tables.memory, answer);
    addTypes(result.run.name, warm->whole, tables.types);
    return addFunctions(result.run.name, **reader, *warm, tables.functions);
}

Result<BenchResult> conclude(const BenchRequest& request, const std::vector<RunResult>& results) {
    BenchResult result;
    result.answer.question = "model";
    Tables tables;
    Plot plot;
    plot.file = "timings";
    plot.title = "Time of a step by model";
    plot.y = {"time (ms)", true, {}};
    std::vector<PlotSeries> series{{"forward", {}, false, true},
                                   {"forward + backward", {}, false, true},
                                   {"step, 95 %", {}, false, true}};
    for (const RunResult& each : results) {
        if (each.recordings.empty()) continue;
        const auto x = static_cast<double>(plot.x.labels.size());
        plot.x.labels.push_back(each.run.name);
        if (auto done = addTimings(request, each, tables.timings, series, x); !done)
            return failure(done);
        if (auto done = addFirst(request, each, tables, result.answer); !done) return failure(done);
    }
    plot.series = std::move(series);
    result.pictures.push_back(std::move(plot));
    result.answer.tables = {std::move(tables.timings), std::move(tables.warmUp),
                            std::move(tables.memory), std::move(tables.functions),
                            std::move(tables.types)};
    return result;
}

}  // namespace

BenchKind modelBench() {
    return {"model",
            "a model's step by size and precision: time, memory, functions, types",
            "A run gives all of its rows: forward, forward + backward and optimizer are "
            "sums of its phases, the step is the whole. Runs that do not fit into free "
            "memory by theory are skipped and reported.",
            3,
            plan,
            conclude};
}

}  // namespace shardscope::cli
