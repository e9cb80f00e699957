// `bench comm`: collectives between ranks, by operation, size, communicator and number of ranks.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "app/cli/bench/torch_peer.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/record/measured_recording.h"
#include "engine/run/config/measurement_plan.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/planning/calibration.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace shardscope::cli {
namespace {

using analysis::MeanInterval;
using questions::Table;
using questions::Unit;
using run::CommunicatorKind;

constexpr const char* kOperations = "measure_operations";
constexpr const char* kSizes = "measure_sizes";
/// Of one operation and size; enough for a few rounds of a gigabyte.
constexpr double kMostSeconds = 2;

std::string oneOf(const BenchRequest& request, const char* key, const std::string& standard) {
    const auto values = request.valuesOf(key, {standard});
    return values.front();
}

/// Ranks that hosts have slots for, where they are not said.
Result<std::vector<std::string>> ranksOf(const BenchRequest& request) {
    if (!request.gives("hosts") || request.gives("ranks"))
        return request.valuesOf("ranks", {"2", "4", "6"});
    run::RunConfig config = request.start;
    config.hosts = request.given.at("hosts").front();
    if (auto settled = HostFlags().settle(config, false); !settled) return failure(settled);
    return std::vector<std::string>{std::to_string(config.ranks)};
}

run::RunConfig measuring(const BenchRequest& request, run::RunConfig config) {
    config.measureOperations = oneOf(request, kOperations, run::measurableOperations());
    config.measureSizes = oneOf(request, kSizes, kUsualPayloads);
    config.measureRounds = request.steps;
    config.measureWarmup = request.warmUp;
    config.measureSeconds = kMostSeconds;
    return run::measuring(config);
}

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    BenchRequest settled = request;
    settled.given.erase(kOperations);
    settled.given.erase(kSizes);
    const auto ranks = ranksOf(request);
    if (!ranks) return failure(ranks);
    settled.given["ranks"] = *ranks;
    const std::vector<std::string> transports =
        request.gives("hosts") ? std::vector<std::string>{"auto", "gloo"}
                               : std::vector<std::string>{"shared-memory", "gloo"};
    auto runs = settled.runs({{"transport", transports}, {"ranks", {}}}, CaptureLevel::kLight);
    if (!runs) return runs;
    for (PlannedRun& run : *runs) {
        run.config = measuring(request, run.config);
        if (const auto valid = run::validate(run.config); !valid && run.impossible.empty())
            run.impossible = valid.error().message;
    }
    if (auto useful = eachChangesSomething(request, *runs); !useful) return failure(useful);
    const bool none = std::none_of(runs->begin(), runs->end(),
                                   [](const PlannedRun& run) { return run.impossible.empty(); });
    if (none && !runs->empty()) return failure(ErrorCode::kUsage, runs->front().impossible);
    return runs;
}

/// Of an operation and a payload: of each repetition the seconds of its rounds.
struct Rows {
    std::map<std::pair<CollectiveOp, std::int64_t>, std::vector<std::vector<double>>> nanoseconds;
    std::int32_t ranks = 0;  ///< that took part
};

struct Measured {
    const RunResult* result;
    Rows rows;
    std::vector<analysis::SizedTime> ofAll(CollectiveOp operation) const {
        std::vector<analysis::SizedTime> times;
        for (const auto& [what, repetitions] : rows.nanoseconds)
            for (const auto& rounds : repetitions)
                for (const double ns : rounds)
                    if (what.first == operation)
                        times.push_back({{what.second}, {static_cast<std::int64_t>(ns)}});
        return times;
    }
};

void addTo(Rows& rows, std::size_t repetition, const planning::MeasuredRecording& recording) {
    rows.ranks = recording.config.ranks;
    for (const analysis::Transfer& each : recording.transfers) {
        if (!moves(each.operation)) continue;
        const auto time = each.completion();
        auto& repetitions = rows.nanoseconds[{each.operation, each.size.count}];
        repetitions.resize(std::max(repetitions.size(), repetition + 1));
        // Unknown where hosts' clocks are further apart than it took.
        if (time && time->ns > 0) repetitions[repetition].push_back(static_cast<double>(time->ns));
    }
}

/// Of PyTorch, by number of ranks, operation and payload.
struct Peers {
    std::map<std::int32_t, Rows> byRanks;
    std::string version;
};

void addPeer(const std::string& path, std::size_t repetition, std::int32_t ranks, Peers& peers) {
    const auto times = readPeer(path);
    if (!times) return;
    peers.version = times->version;
    for (const auto& [what, rounds] : times->rounds) {
        const auto operation = fromWord<CollectiveOp>(what.first);
        if (!operation || rounds.empty()) continue;
        auto& repetitions = peers.byRanks[ranks].nanoseconds[{*operation, what.second}];
        repetitions.resize(std::max(repetitions.size(), repetition + 1));
        repetitions[repetition] = rounds;
    }
}

struct Everything {
    std::vector<Measured> measured;
    Peers peers;
    std::vector<std::string> limits;  ///< what was skipped or shortened, each once
};

Result<Everything> read(const std::vector<RunResult>& results) {
    Everything all;
    for (const RunResult& result : results) {
        Measured measured{&result, {}};
        for (std::size_t i = 0; i < result.recordings.size(); ++i) {
            const auto recording = readMeasuredRecording(result.recordings[i]);
            if (!recording) return failure(recording);
            addTo(measured.rows, i, *recording);
            // Every bench reports warnings.
            addNotedLimits(recording->summary, all.limits);
            const auto folder = std::filesystem::path(result.recordings[i]).parent_path();
            const std::int32_t ranks = result.run.config.ranks;
            if (hasPeer(result.run.config))
                addPeer(peerPath(folder.string(), ranks, static_cast<std::int32_t>(i) + 1), i,
                        ranks, all.peers);
        }
        if (!measured.rows.nanoseconds.empty()) all.measured.push_back(std::move(measured));
    }
    return all;
}

std::string communicatorName(const run::RunConfig& config) {
    return entryOf(run::communicatorOf(config))->name;
}

/// How many times as long PyTorch took, repetition by repetition.
std::optional<MeanInterval> ratioOf(const std::vector<std::vector<double>>& own,
                                    const std::vector<std::vector<double>>& peer) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(own.size(), peer.size()); ++i) {
        const auto ours = analysis::meanOf(own[i]), theirs = analysis::meanOf(peer[i]);
        if (ours && theirs) ratios.push_back(theirs->mean / ours->mean);
    }
    return analysis::meanOf(ratios);
}

/// Sizes in powers of 1000 or 1024, as they were asked for.
Unit unitOfSizes(const BenchRequest& request) {
    return oneOf(request, kSizes, kUsualPayloads).find("iB") == std::string::npos
               ? Unit::kDecimalBytes
               : Unit::kBytes;
}

Table timesTable(Unit sizes) {
    return {"collectives",
            "Collectives",
            {{"communicator", "communicator"},
             {"ranks", "ranks", Unit::kCount},
             {"hosts", "hosts", Unit::kCount, "", questions::Shown::kToScripts},
             {"operation", "operation"},
             {"size_bytes", "size", sizes,
              "Whole payload, gathered or before reduction: whole fp32 elements of each rank."},
             {"rounds", "rounds", Unit::kCount, "Timed, of all repetitions."},
             {"time_ns", "time", Unit::kNanoseconds,
              "From the last rank's arrival to the last rank's end: mean over repetitions, each by "
              "the mean of its rounds."},
             {"time_deviation_ns", "deviation", Unit::kNanoseconds,
              "Standard deviation between repetitions; of one alone between its rounds."},
             {"time_half_ns", "+-", Unit::kNanoseconds,
              "Half of the 95 % interval of the mean, t s / sqrt(n) (Student)."},
             {"least_ns", "least", Unit::kNanoseconds, "The shortest round."},
             {"algorithm_bytes_per_s", "algbw", Unit::kBytesPerSecond, "Size over time."},
             {"bus_bytes_per_s", "busbw", Unit::kBytesPerSecond,
              "algbw times 2 (n - 1) / n of all-reduce, (n - 1) / n of all-gather, reduce-scatter "
              "and all-to-all, 1 of broadcast (nccl-tests, doc/PERFORMANCE.md)."},
             {"torch_ns", "torch", Unit::kNanoseconds,
              "torch.distributed over Gloo, as many ranks on this host, timed alike, mean.",
              questions::Shown::kWhereAny},
             {"against_torch", "torch / own", Unit::kNone,
              "How many times as long torch.distributed took: mean over repetitions.",
              questions::Shown::kWhereAny},
             {"against_torch_half", "+-", Unit::kNone, "Half of its 95 % interval.",
              questions::Shown::kWhereAny}},
            {}};
}

Cell halfOf(const std::optional<MeanInterval>& mean) {
    return mean && mean->high ? Cell(*mean->high - mean->mean) : Cell();
}

std::vector<Cell> rowOf(const Measured& measured, CollectiveOp operation, std::int64_t bytes,
                        const std::vector<std::vector<double>>& repetitions, const Peers& peers) {
    const run::RunConfig& config = measured.result->run.config;
    const auto time = analysis::meanOfRuns(repetitions);
    std::int64_t rounds = 0;
    double least = 0;
    for (const auto& each : repetitions)
        for (const double ns : each) {
            least = rounds++ == 0 ? ns : std::min(least, ns);
        }
    const double rate = time ? static_cast<double>(bytes) / (time->mean * 1e-9) : 0;
    const auto factor = analysis::busFactor(operation, config.ranks);
    std::vector<Cell> row{communicatorName(config),
                          std::int64_t{config.ranks},
                          std::int64_t{std::max(1, run::placesOf(config).hosts())},
                          toWord(operation),
                          bytes,
                          rounds,
                          time ? Cell(time->mean) : Cell(),
                          time ? cellOf(time->deviation) : Cell(),
                          halfOf(time),
                          time ? Cell(least) : Cell(),
                          time ? Cell(rate) : Cell(),
                          time && factor ? Cell(rate * *factor) : Cell()};
    const auto peer = peers.byRanks.find(config.ranks);
    std::optional<MeanInterval> theirs, ratio;
    if (peer != peers.byRanks.end() && hasPeer(config))
        if (const auto found = peer->second.nanoseconds.find({operation, bytes});
            found != peer->second.nanoseconds.end()) {
            theirs = analysis::meanOfRuns(found->second);
            ratio = ratioOf(repetitions, found->second);
        }
    append(
        {theirs ? Cell(theirs->mean) : Cell(), ratio ? Cell(ratio->mean) : Cell(), halfOf(ratio)},
        row);
    return row;
}

Table fitTable() {
    return {"links",
            "time = alpha + beta x size, through the shortest time of each size",
            {{"communicator", "communicator"},
             {"ranks", "ranks", Unit::kCount},
             {"operation", "operation"},
             {"alpha_ns", "alpha", Unit::kNanoseconds,
              "What the smallest would take, from the last rank's arrival to the last rank's end; "
              "`analyze RUN collectives` fits the same to all collectives of the recording, "
              "those of start and warm-up too."},
             {"alpha_low_ns", "from", Unit::kNanoseconds,
              "95 % of resamples (percentile bootstrap, Efron & Tibshirani 1993)."},
             {"alpha_high_ns", "to", Unit::kNanoseconds, "Likewise."},
             {"beta_bytes_per_s", "1 / beta", Unit::kBytesPerSecond, "Bandwidth of the largest."},
             {"beta_low_bytes_per_s", "from", Unit::kBytesPerSecond, "95 % of resamples."},
             {"beta_high_bytes_per_s", "to", Unit::kBytesPerSecond, "Likewise."}},
            {}};
}

Cell bandwidth(double nsPerByte) {
    return nsPerByte > 0 ? Cell(1e9 / nsPerByte) : Cell();
}

void addFits(const Measured& measured, Table& table) {
    for (const CollectiveOp operation : kAll<CollectiveOp>) {
        const auto fitted = planning::fitWithInterval(measured.ofAll(operation));
        if (!fitted) continue;
        // The fit's bound is not a figure: it says that nothing of the time was without payload.
        const auto latency = [hasLatency = fitted->fit.latencyNs > 0](double ns) {
            return hasLatency ? Cell(ns) : Cell();
        };
        table.rows.push_back(
            {communicatorName(measured.result->run.config), std::int64_t{measured.rows.ranks},
             toWord(operation), latency(fitted->fit.latencyNs), latency(fitted->alphaNs.low),
             latency(fitted->alphaNs.high), bandwidth(fitted->fit.nsPerByte),
             bandwidth(fitted->betaNsPerByte.high), bandwidth(fitted->betaNsPerByte.low)});
    }
}

PlotSeries seriesOf(const std::string& name, const Rows& rows, CollectiveOp operation,
                    std::int32_t ranks) {
    PlotSeries series{name, {}, true, true};
    const auto factor = analysis::busFactor(operation, ranks);
    for (const auto& [what, repetitions] : rows.nanoseconds) {
        const auto time = analysis::meanOfRuns(repetitions);
        if (what.first != operation || !time || !factor) continue;
        const double bytes = static_cast<double>(what.second) * *factor;
        PlotPoint point{static_cast<double>(what.second) * 1e-6, bytes / time->mean, {}, {}};
        // A wider interval would leave room for nothing else; the table has it.
        if (time->low && time->high && *time->low > time->mean / 2) {
            point.low = bytes / *time->high;
            point.high = bytes / *time->low;
        }
        series.points.push_back(point);
    }
    return series;
}

Plot pictureOf(CollectiveOp operation, const Everything& all) {
    Plot plot;
    plot.file = toWord(operation);
    plot.title = fmt::format("Bus bandwidth of {} by size", toWord(operation));
    plot.x = {"size (MB)", true, {}};
    plot.y = {"bus bandwidth (GB/s)", false, {}};
    for (const Measured& each : all.measured) {
        const run::RunConfig& config = each.result->run.config;
        plot.series.push_back(
            seriesOf(fmt::format("{}, {} ranks", communicatorName(config), config.ranks), each.rows,
                     operation, config.ranks));
    }
    for (const auto& [ranks, rows] : all.peers.byRanks)
        plot.series.push_back(
            seriesOf(fmt::format("torch Gloo, {} ranks", ranks), rows, operation, ranks));
    std::erase_if(plot.series, [](const PlotSeries& series) { return series.points.empty(); });
    return plot;
}

Result<BenchResult> conclude(const BenchRequest& request, const std::vector<RunResult>& results) {
    const auto all = read(results);
    if (!all) return failure(all);
    BenchResult result;
    Table times = timesTable(unitOfSizes(request)), fits = fitTable();
    for (const Measured& each : all->measured) {
        for (const auto& [what, repetitions] : each.rows.nanoseconds)
            times.rows.push_back(rowOf(each, what.first, what.second, repetitions, all->peers));
        addFits(each, fits);
    }
    result.answer.sentences.emplace_back(
        "All results were right: ranks, places and sums are checked in the first round "
        "of each size and in its last.");
    for (const std::string& limit : all->limits) result.answer.sentences.push_back(limit + '.');
    if (all->peers.byRanks.empty())
        result.answer.unknown.emplace_back(
            "how torch.distributed compares is unknown: no Python with PyTorch measured beside "
            "(python3, or what SHARDSCOPE_PYTHON names)");
    else
        result.answer.sentences.push_back(fmt::format(
            "torch is PyTorch {}, on the same host in turn with these runs.", all->peers.version));
    const auto alpha = fits.columnAt("alpha_ns");
    if (std::any_of(fits.rows.begin(), fits.rows.end(),
                    [&](const std::vector<Cell>& row) { return row[alpha].isNone(); }))
        result.answer.unknown.emplace_back(
            "alpha unknown where it is not shown: larger payloads, out of caches, take more "
            "than their size says; smaller --sizes show it");
    result.answer.tables = {std::move(times), std::move(fits)};
    for (const CollectiveOp operation : kAll<CollectiveOp>)
        if (Plot plot = pictureOf(operation, *all); !plot.series.empty())
            result.pictures.push_back(std::move(plot));
    return result;
}

Result<void> measureBeside(const run::RunConfig& config, std::int32_t repetition,
                           const std::string& folder) {
    if (!hasPeer(config)) return {};
    return measurePeer(config, peerPath(folder, config.ranks, repetition));
}

}  // namespace

BenchKind commBench() {
    return {"comm",
            "collectives between ranks, by communicator, operation, size and number of ranks",
            "Ranks do nothing but collectives of fp32. A round begins when all ranks are "
            "there. --steps are rounds; slow sizes take fewer, which is reported.",
            3,
            plan,
            conclude,
            measureBeside};
}

}  // namespace shardscope::cli
