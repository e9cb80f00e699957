// `bench ddp`: strategies on one model, and how large DDP's buckets should be.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/run_config.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/planning/bucket_model.h"
#include "profiler/planning/calibration_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace shardscope::cli {
namespace {

using questions::Shown;
using questions::Table;
using questions::Unit;

constexpr double kNanoseconds = 1e9;
constexpr double kMegabyte = 1e6;

/// Gradients that DDP reduces in a step.
double gradientBytes(const run::RunConfig& config) {
    const bool narrow = config.compression == run::Compression::kBFloat16 ||
                        config.reduceIn == run::GradientType::kBFloat16;
    return static_cast<double>(theory::parameterCount(config.model)) * (narrow ? 2 : 4);
}

bool isBucketed(const PlannedRun& run) {
    return run.config.strategy == run::Strategy::kDdpBucket && run.impossible.empty();
}

/// All-reduces of gradients in a step.
std::int32_t pieces(const PlannedRun& run) {
    return theory::stepContents(run.config).reductions;
}

/// Buckets of several sizes may cut a model alike.
std::vector<PlannedRun> withoutEqualBuckets(std::vector<PlannedRun> runs) {
    std::vector<PlannedRun> kept;
    for (PlannedRun& run : runs) {
        bool alike = false;
        for (const PlannedRun& other : kept) {
            if (!isBucketed(run) || !isBucketed(other) || pieces(run) != pieces(other)) continue;
            run::RunConfig same = run.config;
            same.bucketMegabytes = other.config.bucketMegabytes;
            alike = alike || same == other.config;
        }
        if (!alike) kept.push_back(std::move(run));
    }
    return kept;
}

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    auto runs = request.runs(
        {{"strategy",
          {"ddp-naive", "ddp-flat", "ddp-overlap", "ddp-bucket", "zero1", "zero2", "zero3"}},
         {"ranks", {"2"}},
         {"bucket_mb", {"1", "2", "5", "10", "25", "50", "100", "200", "500"}}},
        CaptureLevel::kLight);
    if (!runs) return runs;
    return withoutEqualBuckets(std::move(*runs));
}

struct Measured {
    const RunResult* result;
    RepeatedRun run;
    /// Of all-reduces of gradients, until the last rank's end, as beside them of `calibrate`.
    std::vector<analysis::SizedTime> allReduces;
};

Result<std::vector<Measured>> read(const BenchRequest& request,
                                   const std::vector<RunResult>& results) {
    std::vector<Measured> all;
    for (const RunResult& result : results) {
        Measured measured{&result, {}, {}};
        auto run = readRepeated(result, request.warmUp, [&](const RunReading& reading) {
            for (const auto& each : analysis::transfersOf(reading.ranks, reading.report.clocks))
                if (const auto time = each.completion();
                    each.operation == CollectiveOp::kAllReduce && time &&
                    each.cause == Cause::kGradient)
                    measured.allReduces.push_back({each.size, *time});
        });
        if (!run) return failure(run);
        measured.run = std::move(*run);
        all.push_back(std::move(measured));
    }
    return all;
}

Table strategyTable(const std::vector<Measured>& all) {
    Table table{"strategies", "Strategies", {{"name", "run"}}, {}};
    table.columns.insert(table.columns.end(),
                         {{"strategy", "strategy"},
                          {"ranks", "ranks", Unit::kCount},
                          {"bucket_mb", "bucket (MB)", Unit::kNone,
                           "Largest size of a bucket, 10^6 bytes.", Shown::kWhereAny},
                          {"reductions", "reductions", Unit::kCount,
                           "Reductions of gradients per step, by theory."}});
    append(stepColumns(), table.columns);
    table.columns.insert(
        table.columns.end(),
        {{"tokens_per_s", "throughput", Unit::kTokensPerSecond, "Of all ranks, mean."},
         {"communication_ns", "communicating", Unit::kNanoseconds,
          "Per step, mean over ranks: at least one collective is running."},
         {"exposed_ns", "exposed", Unit::kNanoseconds,
          "Of that, while the rank did not compute; waiting for others included."},
         {"hidden_pct", "hidden", Unit::kPercent, "Of communicating, behind compute of the rank."},
         {"traffic_bytes", "traffic", Unit::kBytes, "Sent by each rank per step, by theory."}});
    for (const Measured& each : all) {
        const run::RunConfig& config = each.result->run.config;
        if (each.run.empty()) continue;
        std::vector<Cell> row{each.result->run.name, toWord(config.strategy),
                              std::int64_t{config.ranks},
                              isBucketed(each.result->run) ? Cell(config.bucketMegabytes) : Cell(),
                              std::int64_t{pieces(each.result->run)}};
        append(stepCells(each.run.mean("step.time_ns")), row);
        const auto meanOf = [&](const char* key) {
            const auto mean = each.run.mean(key);
            return mean ? std::optional(mean->mean) : std::nullopt;
        };
        const auto communication = meanOf("communication.time_ns");
        const auto exposed = meanOf("communication.exposed_ns");
        const bool share = communication && exposed && *communication > 0;
        append({cellOf(meanOf("throughput.tokens_per_s")), cellOf(communication), cellOf(exposed),
                share ? Cell(100 * (1 - *exposed / *communication)) : Cell(),
                Cell(theory::trafficPerStep(config).count)},
               row);
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// Bucketed runs that differ in nothing but the buckets' size.
using Sweep = std::vector<const Measured*>;

std::vector<Sweep> sweepsOf(const std::vector<Measured>& all) {
    std::vector<Sweep> sweeps;
    for (const Measured& each : all) {
        if (!isBucketed(each.result->run) || each.run.empty()) continue;
        bool placed = false;
        for (Sweep& sweep : sweeps) {
            run::RunConfig same = each.result->run.config;
            same.bucketMegabytes = sweep.front()->result->run.config.bucketMegabytes;
            if (placed || same != sweep.front()->result->run.config) continue;
            sweep.push_back(&each);
            placed = true;
        }
        if (!placed) sweeps.push_back({&each});
    }
    return sweeps;
}

Table modelTable() {
    return {"bucket_models",
            "Buckets: overhead = s / (n w) + n o",
            {{"ranks", "ranks", Unit::kCount},
             {"gradient_bytes", "gradients", Unit::kBytes, "s: per step."},
             {"points", "sizes", Unit::kCount, "Numbers of buckets n that it was fitted to."},
             {"bytes_per_s", "w", Unit::kBytesPerSecond,
              "Bandwidth of the last bucket, which nothing hides, by least squares."},
             {"per_bucket_ns", "o", Unit::kNanoseconds, "Overhead of each all-reduce."},
             {"best_bucket_bytes", "best size", Unit::kBytes, "sqrt(s o w), at most s."},
             {"best_buckets", "best number", Unit::kNone, "sqrt(s / (o w)), at least 1."},
             {"alpha_ns", "alpha", Unit::kNanoseconds,
              "Of single all-reduces of gradients: constant term of their fastest, to compare with "
              "o."},
             {"beta_bytes_per_s", "1 / beta", Unit::kBytesPerSecond,
              "Of single all-reduces of gradients, to compare with w."},
             {"calibrated_alpha_ns", "calibrated alpha", Unit::kNanoseconds,
              "Of an all-reduce of these ranks by `calibrate`, whose ranks do nothing else.",
              Shown::kWhereAny},
             {"calibrated_beta_bytes_per_s", "calibrated 1 / beta", Unit::kBytesPerSecond,
              "Likewise.", Shown::kWhereAny}},
            {}};
}

Table bucketTable() {
    return {"buckets",
            "Buckets, measured and predicted",
            {{"ranks", "ranks", Unit::kCount},
             {"bucket_mb", "bucket (MB)", Unit::kNone, "Largest size, 10^6 bytes."},
             {"buckets", "buckets", Unit::kCount, "All-reduces per step."},
             {"exposed_ns", "overhead", Unit::kNanoseconds,
              "Exposed communication per step, mean over ranks and repetitions."},
             {"exposed_half_ns", "+-", Unit::kNanoseconds, "Half of its 95 % interval."},
             {"predicted_ns", "by the model", Unit::kNanoseconds,
              "By the o and w that were fitted to these rows."}},
            {}};
}

Plot picture(const Sweep& sweep, const Result<planning::BucketModel>& model) {
    const run::RunConfig& config = sweep.front()->result->run.config;
    Plot plot;
    plot.file = fmt::format("buckets_{}-ranks", config.ranks);
    plot.title = fmt::format("Overhead of DDP by size of buckets: {}, {} ranks", config.model.name,
                             config.ranks);
    plot.x = {"bucket (MB): gradients / buckets", true, {}};
    plot.y = {"exposed communication per step (ms)", false, {}};
    PlotSeries points{"measured, 95 %", {}, false, true};
    double least = 0, most = 0;
    for (const Measured* each : sweep) {
        const auto exposed = each->run.mean("communication.exposed_ns");
        if (!exposed) continue;
        const double x = gradientBytes(config) / pieces(each->result->run) / kMegabyte;
        least = least > 0 ? std::min(least, x) : x;
        most = std::max(most, x);
        const auto inMs = [](std::optional<double> ns) {
            return ns ? std::optional(*ns * 1e-6) : std::nullopt;
        };
        points.points.push_back({x, exposed->mean * 1e-6, inMs(exposed->low), inMs(exposed->high)});
    }
    plot.series.push_back(std::move(points));
    if (!model) return plot;
    PlotSeries line{"s/(n w) + n o, fitted", {}, true, false};
    const auto predicted = [&](double megabytes) {
        return model->overheadSeconds(model->gradientBytes / (megabytes * kMegabyte)) * 1e3;
    };
    constexpr int kSteps = 60;
    for (int i = 0; i <= kSteps; ++i) {
        const double x = least * std::pow(most / least, static_cast<double>(i) / kSteps);
        line.points.push_back({x, predicted(x), {}, {}});
    }
    plot.series.push_back(std::move(line));
    const double best = std::min(model->bestBucketBytes(), model->gradientBytes) / kMegabyte;
    plot.series.push_back({"optimum sqrt(s o w)", {{best, predicted(best), {}, {}}}, false, true});
    return plot;
}

struct CalibratedCost {
    Cell alpha, beta;
    std::string sentence;  ///< of what they are; empty: there are none
};
/// Of an all-reduce of such ranks on this host, where calibrate measured any over their
/// communicator.
CalibratedCost calibratedCost(const run::RunConfig& config) {
    const auto calibration = planning::findCalibration(launch::hostFacts().name, config.device);
    if (!calibration || !*calibration) return {};
    const auto cost =
        planning::costOf(**calibration, CollectiveOp::kAllReduce, run::communicatorOf(config),
                         config.ranks, std::max(1, run::placesOf(config).hosts()));
    if (!cost) return {};
    const std::string age = planning::ageText(cost->from->unixS, std::time(nullptr));
    return {cost->cost.latencyNs, cellOf(cost->cost.bytesPerSecond()),
            fmt::format("Calibrated alpha and beta of {} ranks were measured {} ago{}.",
                        config.ranks, age,
                        cost->measured ? ""
                                       : fmt::format(" with {} ranks, and are estimated from those",
                                                     cost->from->ranks))};
}

void addSweep(const Sweep& sweep, Table& models, Table& buckets, BenchResult& result) {
    const run::RunConfig& config = sweep.front()->result->run.config;
    const double bytes = gradientBytes(config);
    std::vector<planning::BucketPoint> points;
    std::vector<analysis::SizedTime> single;
    for (const Measured* each : sweep) {
        single.insert(single.end(), each->allReduces.begin(), each->allReduces.end());
        if (const auto exposed = each->run.mean("communication.exposed_ns"))
            points.push_back(
                {static_cast<double>(pieces(each->result->run)), exposed->mean / kNanoseconds});
    }
    const auto model = planning::fitBuckets(bytes, points);
    const auto fit = analysis::fitAlphaBeta(single);
    const Cell alpha = fit ? Cell(fit->latencyNs) : Cell();
    const Cell beta = fit ? cellOf(fit->bytesPerSecond()) : Cell();
    const CalibratedCost calibrated = calibratedCost(config);
    if (!calibrated.sentence.empty()) result.answer.sentences.push_back(calibrated.sentence);
    const std::int64_t ranks = config.ranks;
    const auto count = static_cast<std::int64_t>(points.size());
    if (model) {
        models.rows.push_back(
            {ranks, bytes, count, model->bytesPerSecond, model->secondsPerBucket * kNanoseconds,
             std::min(model->bestBucketBytes(), bytes), std::max(model->bestBuckets(), 1.0), alpha,
             beta, calibrated.alpha, calibrated.beta});
    } else {
        models.rows.push_back(
            {ranks, bytes, count, {}, {}, {}, {}, alpha, beta, calibrated.alpha, calibrated.beta});
        result.answer.unknown.push_back(
            fmt::format("best bucket size at {} ranks unknown: {}", ranks, model.error().message));
    }
    for (const Measured* each : sweep) {
        const auto exposed = each->run.mean("communication.exposed_ns");
        const std::int64_t n = pieces(each->result->run);
        buckets.rows.push_back(
            {ranks, each->result->run.config.bucketMegabytes, n,
             exposed ? Cell(exposed->mean) : Cell(),
             exposed && exposed->high ? Cell(*exposed->high - exposed->mean) : Cell(),
             model ? Cell(model->overheadSeconds(static_cast<double>(n)) * kNanoseconds) : Cell()});
    }
    result.pictures.push_back(picture(sweep, model));
}

Plot strategyPicture(const std::vector<Measured>& all) {
    Plot plot;
    plot.file = "strategies";
    plot.title = "Time of a step by strategy";
    plot.y = {"time (ms)", false, {}};
    PlotSeries step{"step, 95 %", {}, false, true},
        exposed{"exposed communication", {}, false, true};
    for (const Measured& each : all) {
        const auto time = each.run.mean("step.time_ns");
        if (!time) continue;
        const auto x = static_cast<double>(plot.x.labels.size());
        plot.x.labels.push_back(each.result->run.name);
        const auto inMs = [](std::optional<double> ns) {
            return ns ? std::optional(*ns * 1e-6) : std::nullopt;
        };
        step.points.push_back({x, time->mean * 1e-6, inMs(time->low), inMs(time->high)});
        if (const auto part = each.run.mean("communication.exposed_ns"))
            exposed.points.push_back({x, part->mean * 1e-6, inMs(part->low), inMs(part->high)});
    }
    plot.series = {std::move(step), std::move(exposed)};
    return plot;
}

Result<BenchResult> conclude(const BenchRequest& request, const std::vector<RunResult>& results) {
    const auto all = read(request, results);
    if (!all) return failure(all);
    BenchResult result;
    result.answer.question = "ddp";
    result.answer.tables.push_back(strategyTable(*all));
    result.pictures.push_back(strategyPicture(*all));
    Table models = modelTable(), buckets = bucketTable();
    for (const Sweep& sweep : sweepsOf(*all))
        if (sweep.size() > 1) addSweep(sweep, models, buckets, result);
    result.answer.tables.push_back(std::move(buckets));
    result.answer.tables.push_back(std::move(models));
    return result;
}

}  // namespace

BenchKind ddpBench() {
    return {
        "ddp",
        "strategies of data parallelism on one model, and sizes of buckets",
        "Strategies train the same model on the same batches. Overhead of buckets is the "
        "communication of a step that its rank's compute does not hide. The model: with s bytes of "
        "gradients in n buckets, at w bytes per second and o per bucket, s / (n w) + n o is left "
        "over, least at buckets of sqrt(s o w) (Stanford CS336, assignment 2).",
        3,
        plan,
        conclude};
}

}  // namespace shardscope::cli
