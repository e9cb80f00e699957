// `bench memory`: what ranks hold and send, measured and by theory.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/communication/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

using questions::Table;
using questions::Unit;
using theory::MemoryByCategory;
using theory::Moment;

/// So that a step of each kind is there whatever was asked for.
constexpr const char* kStates = "states";
constexpr const char* kActivations = "activations";

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    // Each table varies what it is about, and has the first of what it is not.
    BenchRequest states = request, activations = request;
    const std::string context = std::to_string(request.start.model.context);
    for (const char* key : {"batch", "model.context"})
        if (request.gives(key)) states.given[key].resize(1);
    auto runs =
        states.runs({{"strategy", {"ddp-flat", "zero1", "zero2", "zero3"}}, {"ranks", {"2"}}},
                    CaptureLevel::kFull, kStates);
    if (!runs) return runs;
    for (const char* key : {"strategy", "ranks"})
        if (request.gives(key)) activations.given[key].resize(1);
    auto more = activations.runs({{"strategy", {"zero3"}},
                                  {"ranks", {"2"}},
                                  {"model.context", {"64", "128"}},
                                  {"batch", {"2", "4", "8"}}},
                                 CaptureLevel::kFull, kActivations);
    if (!more) return more;
    addRuns(std::move(*more), *runs);
    return runs;
}

Cell ratio(double measured, double theory) {
    return theory > 0 ? Cell(measured / theory) : Cell();
}

std::int64_t at(const MemoryByCategory& held, MemoryCategory category) {
    return held[static_cast<std::size_t>(category)].count;
}

std::int64_t stateOf(const MemoryByCategory& held) {
    // Where gradients are sharded, whole ones are room to work in.
    const std::int64_t shards = at(held, MemoryCategory::kGradientShard);
    return at(held, MemoryCategory::kParameterShard) +
           (shards > 0 ? shards : at(held, MemoryCategory::kGradient)) +
           at(held, MemoryCategory::kOptimizerState);
}

Table momentTable() {
    return {"moments",
            "Rank 0 at moments of a step",
            {{"name", "run"},
             {"strategy", "strategy"},
             {"ranks", "ranks", Unit::kCount},
             {"moment", "moment", Unit::kNone,
              "initialised: the first step begins; before optimizer: the last step's gradients are "
              "reduced; after optimizer: its first forward begins, behind the update before it."},
             {"parameters_bytes", "parameters", Unit::kBytes, "Shards, master copies with them."},
             {"gradients_bytes", "gradients", Unit::kBytes, "Shards and whole ones."},
             {"optimizer_bytes", "optimizer", Unit::kBytes, "Moments of AdamW."},
             {"other_bytes", "other", Unit::kBytes, "Everything else that was alive."},
             {"bytes", "together", Unit::kBytes, "Measured: all tensors that are alive."},
             {"theory_bytes", "by theory", Unit::kBytes, "Of the same moment."},
             {"ratio", "measured / theory"}},
            {}};
}

Table savingTable() {
    return {
        "savings",
        "State per rank, against all of it on every rank",
        {{"name", "run"},
         {"strategy", "strategy"},
         {"ranks", "ranks", Unit::kCount},
         {"state_bytes", "state", Unit::kBytes,
          "Measured before the optimizer: parameters, gradients and moments; where gradients are "
          "sharded without the whole ones that are still on their way, which \"gradients\" "
          "above counts too."},
         {"theory_bytes", "by theory", Unit::kBytes,
          "Without padding (ZeRO: arXiv 1910.02054, section 3)."},
         {"whole_bytes", "whole", Unit::kBytes, "State that nothing is sharded of, by theory."},
         {"saved_pct", "saved", Unit::kPercent, "1 - state / whole."}},
        {}};
}

Table activationTable() {
    return {"activations",
            "Peaks by context and batch",
            {{"name", "run"},
             {"ranks", "ranks", Unit::kCount},
             {"context", "context", Unit::kCount, "Tokens of a sequence."},
             {"batch", "batch", Unit::kCount, "Sequences per rank and micro-step."},
             {"activations_bytes", "activations", Unit::kBytes,
              "Of the rank that holds most, at its peak."},
             {"activations_theory_bytes", "by theory", Unit::kBytes, "At the peak by theory."},
             {"peak_bytes", "peak", Unit::kBytes, "Of all its tensors."},
             {"peak_theory_bytes", "peak by theory", Unit::kBytes},
             {"ratio", "measured / theory", Unit::kNone, "Of the peaks."}},
            {}};
}

Table volumeTable() {
    return {"volume",
            "Communication of a step",
            {{"name", "run"},
             {"strategy", "strategy"},
             {"ranks", "ranks", Unit::kCount},
             {"collectives", "collectives", Unit::kNone,
              "Gathers and reductions of rank 0 per step; not those of norm, loss and agreement."},
             {"sent_bytes", "sent", Unit::kBytes,
              "Of them: size x 2 (n - 1) / n of an all-reduce, (n - 1) / n of gathers and "
              "reduce-scatters, as a ring sends (nccl-tests)."},
             {"theory_bytes", "by theory", Unit::kBytes,
              "With P bytes of parameters and A micro-steps, times (n - 1) / n: ddp and zero1 2 P, "
              "zero2 (A + 1) P; zero3 3 A P, less per micro-step a block that backward finds still "
              "gathered (engine/run/theory/theory.h)."},
             {"ratio", "measured / theory"}},
            {}};
}

struct Tables {
    Table moments = momentTable(), savings = savingTable(), activations = activationTable(),
          volume = volumeTable();
};

void addMoments(const PlannedRun& run, const MomentsHeld& held, Tables& tables) {
    const auto add = [&](Moment moment, const MemoryByCategory& measured) {
        const double all = static_cast<double>(theory::total(measured).count);
        const double expected =
            static_cast<double>(theory::total(theory::memoryAt(run.config, moment)).count);
        tables.moments.rows.push_back(
            {run.name, toWord(run.config.strategy), std::int64_t{run.config.ranks}, toWord(moment),
             at(measured, MemoryCategory::kParameterShard),
             at(measured, MemoryCategory::kGradientShard) + at(measured, MemoryCategory::kGradient),
             at(measured, MemoryCategory::kOptimizerState),
             theory::total(measured).count - at(measured, MemoryCategory::kParameterShard) -
                 at(measured, MemoryCategory::kGradientShard) -
                 at(measured, MemoryCategory::kGradient) -
                 at(measured, MemoryCategory::kOptimizerState),
             all, expected, ratio(all, expected)});
    };
    add(Moment::kInitialised, held.initialised);
    add(Moment::kBeforeOptimizer, held.beforeOptimizer);
    add(Moment::kAfterOptimizer, held.afterOptimizer);
    run::RunConfig whole = run.config;
    whole.strategy = run::Strategy::kDdpFlat;
    const auto state = static_cast<double>(stateOf(held.beforeOptimizer));
    const auto most = static_cast<double>(theory::stateTheory(whole).count);
    tables.savings.rows.push_back({run.name, toWord(run.config.strategy),
                                   std::int64_t{run.config.ranks}, state,
                                   theory::stateTheory(run.config).count, most,
                                   most > 0 ? Cell(100 * (1 - state / most)) : Cell()});
}

void addPeak(const PlannedRun& run, const analysis::RankMemory& memory, Tables& tables) {
    const auto of = [](const auto& categories) {
        return categories[static_cast<std::size_t>(MemoryCategory::kActivation)].count;
    };
    tables.activations.rows.push_back({run.name, std::int64_t{run.config.ranks},
                                       run.config.model.context, std::int64_t{run.config.batch},
                                       of(memory.byCategory), of(memory.theoryByCategory),
                                       memory.managed().count, memory.theory.count,
                                       ratio(static_cast<double>(memory.managed().count),
                                             static_cast<double>(memory.theory.count))});
}

bool isOfAStep(Cause cause) {
    return cause == Cause::kDemand || cause == Cause::kPrefetch || cause == Cause::kGradient ||
           cause == Cause::kUpdate;
}

/// Of steps behind the warm-up without the last one, behind which nothing is gathered any more.
void addVolume(const PlannedRun& run, const RankEvents& events, std::int32_t first,
               std::int32_t last, Tables& tables) {
    const std::int32_t steps = std::max(last - first, 1);
    double sent = 0, count = 0;
    for (const CollectiveEvent& each : events.collectives) {
        const bool within = each.step.value >= first && each.step.value < first + steps;
        const auto ranks = run.config.shardRanks > 0 ? run.config.shardRanks : run.config.ranks;
        const auto factor = analysis::busFactor(each.operation, ranks);
        if (!within || !factor || !isOfAStep(each.cause) || each.size == kUnknownSize) continue;
        sent += *factor * static_cast<double>(each.size.count);
        ++count;
    }
    const auto expected = static_cast<double>(theory::trafficPerStep(run.config).count);
    tables.volume.rows.push_back({run.name, toWord(run.config.strategy),
                                  std::int64_t{run.config.ranks}, count / steps, sent / steps,
                                  expected, ratio(sent / steps, expected)});
}

Result<void> add(const BenchRequest& request, const RunResult& result, Tables& tables,
                 questions::Answer& answer) {
    const std::string& recording = result.recordings.front();
    const auto reading = readRun(recording, request.warmUp);
    if (!reading) return failure(reading);
    auto reader = storage::openRecording(recording);
    if (!reader) return failure(reader);
    if (result.run.group == kActivations) {
        if (const analysis::RankMemory* memory = reading->report.worstMemory())
            addPeak(result.run, *memory, tables);
        return {};
    }
    const auto held = momentsOf(**reader, reading->whole);
    if (held)
        addMoments(result.run, *held, tables);
    else
        answer.unknown.push_back(
            fmt::format("memory of {} unknown: {}", result.run.name, held.error().message));
    const auto events = (*reader)->rankEvents(RankId{0}, reading->whole.bounds);
    if (!events) return failure(events);
    addVolume(result.run, *events, request.warmUp, request.warmUp + request.steps - 1, tables);
    return {};
}

/// Two columns of a table as points over its rows' names.
Plot picture(const Table& table, const char* file, const char* title, const char* measured,
             const char* theory) {
    Plot plot;
    plot.file = file;
    plot.title = title;
    plot.y = {"MB per rank", false, {}};
    PlotSeries real{"measured", {}, false, true}, predicted{"by theory", {}, true, false};
    const auto number = [&](const std::vector<Cell>& row, const char* key) {
        const Cell& cell = row[table.columnAt(key)];
        if (const auto* whole = cell.integer()) return static_cast<double>(*whole) * 1e-6;
        return cell.real() != nullptr ? *cell.real() * 1e-6 : 0;
    };
    for (const auto& row : table.rows) {
        const auto x = static_cast<double>(plot.x.labels.size());
        plot.x.labels.push_back(*row.front().text());
        real.points.push_back({x, number(row, measured), {}, {}});
        predicted.points.push_back({x, number(row, theory), {}, {}});
    }
    plot.series = {std::move(real), std::move(predicted)};
    return plot;
}

Result<BenchResult> conclude(const BenchRequest& request, const std::vector<RunResult>& results) {
    BenchResult result;
    result.answer.question = "memory";
    Tables tables;
    for (const RunResult& each : results)
        if (!each.recordings.empty())
            if (auto done = add(request, each, tables, result.answer); !done) return failure(done);
    result.pictures.push_back(picture(tables.savings, "states", "State per rank by strategy",
                                      "state_bytes", "theory_bytes"));
    result.pictures.push_back(picture(tables.activations, "activations",
                                      "Activations by context and batch", "activations_bytes",
                                      "activations_theory_bytes"));
    result.answer.tables = {std::move(tables.moments), std::move(tables.savings),
                            std::move(tables.activations), std::move(tables.volume)};
    return result;
}

}  // namespace

BenchKind memoryBench() {
    return {
        "memory",
        "states, activations and traffic of strategies, beside theory",
        "Memory is what tensors of a rank hold, from every allocation that was recorded; traffic "
        "is counted from every collective. Both are the same in each repetition, so that one is "
        "measured. Theory is the engine's own (`record --dry-run`).",
        1,
        plan,
        conclude};
}

}  // namespace shardscope::cli
