// `bench scaling`: how training speeds up with ranks, against one rank that was measured.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/run_rules.h"
#include "profiler/analysis/compare/scaling.h"
#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::cli {
namespace {

using analysis::ScalingRun;
using questions::Table;
using questions::Unit;

// What people aim at: of n times one rank's throughput, and of a step's time.
constexpr double kEfficiencyTarget = 0.8;
constexpr double kOverheadTarget = 0.2;
constexpr const char* kStrong = "strong";
constexpr const char* kWeak = "weak";

std::int32_t mostRanks(const std::vector<std::string>& ranks) {
    std::int32_t most = 1;
    run::RunConfig config;
    for (const std::string& each : ranks)
        if (applySettings({{"ranks", each}}, config)) most = std::max(most, config.ranks);
    return most;
}

/// Ranks have as many threads however many there are, so that only their number changes.
void settleThreads(const BenchRequest& request, std::int32_t most, BenchRequest& settled) {
    if (!request.gives("threads") && !request.gives("hosts"))
        settled.given["threads"] = {std::to_string(launch::threadsPerRank(most))};
}

Result<void> shareBatch(std::vector<PlannedRun>& runs, std::int32_t most) {
    for (PlannedRun& run : runs) {
        const std::int32_t all = run.config.batch * most;
        if (all % run.config.ranks != 0)
            return failure(ErrorCode::kUsage,
                           fmt::format("strong scaling shares a batch of {} x {} sequences among "
                                       "the ranks, and {} ranks do not divide it; choose other "
                                       "--ranks or another --batch",
                                       run.config.batch, most, run.config.ranks));
        run.config.batch = all / run.config.ranks;
    }
    return {};
}

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    const auto asked = request.valuesOf("ranks", {"1", "2", "4"});
    const std::int32_t most = mostRanks(asked);
    BenchRequest settled = request;
    settleThreads(request, most, settled);
    BenchRequest one = settled;
    run::RunConfig single = request.start;
    single.strategy = run::Strategy::kSingle;
    // What is about strategies of several ranks, or about how they meet.
    std::erase_if(one.given, [&](const auto& each) {
        return each.first != kModelKey &&
               (!run::whyNot(single, each.first).empty() || each.first.starts_with("link_"));
    });
    one.given["strategy"] = {"single"};
    std::vector<PlannedRun> all;
    for (const char* kind : {kStrong, kWeak}) {
        auto runs =
            one.runs({{"strategy", {"single"}}, {"ranks", {"1"}}}, CaptureLevel::kLight, kind);
        if (!runs) return runs;
        settled.given["ranks"] = asked;
        std::erase(settled.given["ranks"], "1");
        if (settled.given["ranks"].empty())
            return failure(ErrorCode::kUsage,
                           "--ranks names no number of ranks beside 1, which is always measured; "
                           "give some, as 2,4");
        auto more =
            settled.runs({{"strategy", {"zero3"}}, {"ranks", {}}}, CaptureLevel::kLight, kind);
        if (!more) return more;
        addRuns(std::move(*more), *runs);
        if (kind == kStrong)
            if (auto shared = shareBatch(*runs, most); !shared) return failure(shared);
        addRuns(std::move(*runs), all);
    }
    return all;
}

struct Measured {
    const RunResult* result;
    RepeatedRun run;
    ScalingRun scaling;  ///< its repetitions as one
};

Result<Measured> read(const BenchRequest& request, const RunResult& result) {
    Measured measured{&result, {}, {}};
    std::vector<double> seconds, speeds;
    ScalingRun& all = measured.scaling;
    auto run = readRepeated(result, request.warmUp, [&](const RunReading& reading) {
        const ScalingRun one = analysis::scalingRun(reading.summary, reading.ranks);
        if (!one.missing.empty()) {
            all.missing = one.missing;
            return;
        }
        seconds.push_back(one.stepSeconds);
        speeds.push_back(one.tokensPerSecond);
        all.tokensPerStep = one.tokensPerStep;
        all.samples.insert(all.samples.end(), one.samples.begin(), one.samples.end());
    });
    if (!run) return failure(run);
    measured.run = std::move(*run);
    all.ranks = result.run.config.ranks;
    if (seconds.empty()) {
        if (all.missing.empty()) all.missing = "it was not measured";
        return measured;
    }
    all.missing.clear();
    all.stepSeconds = analysis::medianOf(std::move(seconds));
    all.tokensPerSecond = analysis::medianOf(std::move(speeds));
    return measured;
}

Table pointTable() {
    Table table{"scaling",
                "Scaling",
                {{"scaling", "scaling", Unit::kNone,
                  "strong: the ranks share one batch; weak: each has its own."},
                 {"strategy", "strategy"},
                 {"ranks", "ranks", Unit::kCount},
                 {"tokens_per_step", "tokens/step", Unit::kCount, "Of all ranks."}},
                {}};
    append(stepColumns(), table.columns);
    append<questions::Column>(
        {{"tokens_per_s", "throughput", Unit::kTokensPerSecond, "Of all ranks, median step."},
         {"efficiency_pct", "efficiency", Unit::kOfPeak,
          "Throughput of n ranks / (n x the measured throughput of one rank with strategy "
          "single)."},
         {"low_pct", "from", Unit::kOfPeak, "Interval of the efficiency, 99.7 %, block bootstrap."},
         {"high_pct", "to", Unit::kOfPeak, "Its other end."},
         {"target", "at 80 %", Unit::kNone, "Whether the efficiency reaches it."},
         {"overhead_pct", "communication", Unit::kPercent,
          "Exposed communication / time of a step, means; waiting for other ranks included."},
         {"overhead_target", "within 20 %", Unit::kNone, "Whether the overhead keeps to it."},
         {"serial_fraction", "serial fraction", Unit::kNone,
          "(1/S - 1/n) / (1 - 1/n), S = throughput / that of one rank; of strong scaling (Karp and "
          "Flatt 1990)."}},
        table.columns);
    return table;
}

const char* yesNo(bool yes) {
    return yes ? "yes" : "no";
}

std::optional<double> overheadOf(const Measured& measured) {
    const auto exposed = measured.run.mean("communication.exposed_ns");
    const auto step = measured.run.mean("step.time_ns");
    if (!step || step->mean <= 0) return std::nullopt;
    return exposed ? exposed->mean / step->mean : 0;
}

using Group = std::vector<const Measured*>;

void addGroup(const Group& group, Table& table, PlotSeries& line, questions::Answer& answer) {
    std::vector<ScalingRun> runs;
    for (const Measured* each : group) runs.push_back(each->scaling);
    const analysis::Scaling scaling = analysis::scalingOf(runs);
    if (!scaling.efficiencyMissing.empty())
        answer.unknown.push_back(fmt::format("efficiency of {} unknown: {}",
                                             group.front()->result->run.group,
                                             scaling.efficiencyMissing));
    for (const analysis::ScalingPoint& point : scaling.points) {
        const Measured& each = *group[point.run];
        if (!each.scaling.missing.empty()) continue;
        const auto percent = [](std::optional<double> share) {
            return share ? Cell(100 * *share) : Cell();
        };
        const auto overhead = overheadOf(each);
        std::vector<Cell> row{each.result->run.group, toWord(each.result->run.config.strategy),
                              std::int64_t{each.scaling.ranks}, each.scaling.tokensPerStep};
        append(stepCells(each.run.mean("step.time_ns")), row);
        append<Cell>(
            {each.scaling.tokensPerSecond, percent(point.efficiency), percent(point.low),
             percent(point.high),
             point.efficiency ? Cell(yesNo(*point.efficiency >= kEfficiencyTarget)) : Cell(),
             percent(overhead), overhead ? Cell(yesNo(*overhead <= kOverheadTarget)) : Cell(),
             cellOf(point.serialFraction)},
            row);
        table.rows.push_back(std::move(row));
        if (point.efficiency)
            line.points.push_back({static_cast<double>(each.scaling.ranks), 100 * *point.efficiency,
                                   point.low ? std::optional(100 * *point.low) : std::nullopt,
                                   point.high ? std::optional(100 * *point.high) : std::nullopt});
    }
}

/// One that shares cores says nothing about ranks that have their own.
void addCrowding(const std::vector<RunResult>& results, questions::Answer& answer) {
    const int cores = launch::usableCores();
    for (const RunResult& result : results) {
        const run::RunConfig& config = result.run.config;
        const bool here = config.hosts.empty() && config.device == run::Device::kCpu;
        if (!here || config.ranks * std::max(config.threads, 1) <= cores) continue;
        answer.sentences.push_back(fmt::format(
            "From {} ranks on, ranks share the {} cores of this machine, so that efficiency cannot "
            "be more than {:.0f} % there.",
            config.ranks, cores, 100.0 * cores / (config.ranks * std::max(config.threads, 1))));
        return;
    }
}

Result<BenchResult> conclude(const BenchRequest& request, const std::vector<RunResult>& results) {
    std::vector<Measured> all;
    for (const RunResult& result : results) {
        auto measured = read(request, result);
        if (!measured) return failure(measured);
        all.push_back(std::move(*measured));
    }
    BenchResult result;
    result.answer.question = "scaling";
    addCrowding(results, result.answer);
    Table table = pointTable();
    Plot plot;
    plot.file = "efficiency";
    plot.title = "Efficiency by ranks";
    plot.x = {"ranks", true, {}};
    plot.y = {"throughput / (n x one rank's) (%)", false, {}};
    double most = 1;
    for (const char* kind : {kStrong, kWeak}) {
        // Each strategy with the one rank that all have in common.
        std::map<std::string, Group> groups;
        Group ones;
        for (const Measured& each : all) {
            if (each.result->run.group != kind) continue;
            most = std::max(most, static_cast<double>(each.result->run.config.ranks));
            if (each.result->run.config.ranks == 1)
                ones.push_back(&each);
            else
                groups[toWord(each.result->run.config.strategy)].push_back(&each);
        }
        bool first = true;
        for (auto& [strategy, group] : groups) {
            Group whole = ones;
            whole.insert(whole.end(), group.begin(), group.end());
            PlotSeries line{fmt::format("{}, {}", kind, strategy), {}, true, true};
            Table rows = pointTable();
            addGroup(whole, rows, line, result.answer);
            // The single-rank row is listed once.
            for (auto& row : rows.rows)
                if (first || *row[2].integer() != 1) table.rows.push_back(std::move(row));
            first = false;
            plot.series.push_back(std::move(line));
        }
    }
    const double target = 100 * kEfficiencyTarget;
    plot.series.push_back(
        {"target 80 %", {{1, target, {}, {}}, {most, target, {}, {}}}, true, false});
    result.answer.tables.push_back(std::move(table));
    result.pictures.push_back(std::move(plot));
    return result;
}

}  // namespace

BenchKind scalingBench() {
    return {
        "scaling",
        "strong and weak scaling over ranks",
        "One rank is measured by separate runs with strategy single, and never assumed. Every "
        "rank has the same number of threads, as many as the largest number of ranks leaves "
        "each. Strong: all ranks share the batch that the largest number of ranks has together. "
        "Targets: 80 % efficiency, 20 % of a step for exposed communication.",
        3,
        plan,
        conclude};
}

}  // namespace shardscope::cli
