// `bench norms`: layer and RMS norms forward and backward, by width.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/run_reading.h"
#include "app/cli/record/measured_recording.h"
#include "engine/run/config/machine_figure.h"
#include "engine/run/config/measurement_plan.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace shardscope::cli {
namespace {

using analysis::MeanInterval;
using questions::Table;
using questions::Unit;
using run::MachineFigure;
using run::MeasuredFigure;

constexpr const char* kShapes = "measure_norms";
/// Of one figure; the largest take about a second each.
constexpr double kMostSeconds = 3;

/// A norm as it can be computed.
struct Way {
    const char* norm;
    const char* way;
    MachineFigure forward, backward;
};
constexpr std::array kWays{
    Way{"layer norm", "own, fused", MachineFigure::kLayerNorm, MachineFigure::kLayerNormBackward},
    Way{"layer norm", "LibTorch's operator", MachineFigure::kLibraryNorm,
        MachineFigure::kLibraryNormBackward},
    Way{"RMS norm", "own, fused", MachineFigure::kRmsNorm, MachineFigure::kRmsNormBackward},
    Way{"RMS norm", "operators one by one", MachineFigure::kSteppedNorm,
        MachineFigure::kSteppedNormBackward}};

Result<std::vector<PlannedRun>> plan(const BenchRequest& request) {
    BenchRequest settled = request;
    settled.given.erase(kShapes);
    if (request.valuesOf("ranks", {"1"}) != std::vector<std::string>{"1"})
        return failure(ErrorCode::kUsage,
                       fmt::format("--ranks {}: one rank measures norms; leave it out",
                                   fmt::join(request.given.at("ranks"), ",")));
    const std::string shapes = request.valuesOf(kShapes, {kUsualNormShapes}).front();
    if (const auto parsed = run::parseNormShapes(shapes); !parsed) return failure(parsed);
    auto runs = settled.runs({{"ranks", {"1"}}, {"precision", {"fp32"}}}, CaptureLevel::kLight);
    if (!runs) return runs;
    for (PlannedRun& run : *runs) {
        run.config.measureOperations.clear();
        run.config.measureNorms = shapes;
        run.config.measureRounds = request.steps;
        run.config.measureSeconds = kMostSeconds;
        run.config = run::measuring(run.config);
        if (const auto valid = run::validate(run.config); !valid && run.impossible.empty())
            run.impossible = valid.error().message;
    }
    if (auto useful = eachChangesSomething(request, *runs); !useful) return failure(useful);
    return runs;
}

/// Repetitions of a figure's seconds, by rows, width and figure.
using Key = std::tuple<std::int64_t, std::int64_t, MachineFigure>;
using Times = std::map<Key, std::vector<std::vector<double>>>;

void addTo(Times& times, std::size_t repetition, const RecordingSummary& summary) {
    for (const MetricPoint& point : summary.metrics) {
        const auto figure = run::figureOfMetric(point.name);
        if (!figure || figure->host != 0) continue;
        auto& repetitions = times[{figure->rows, figure->columns, figure->figure}];
        repetitions.resize(std::max(repetitions.size(), repetition + 1));
        repetitions[repetition].push_back(point.value);
    }
}

Table timesTable() {
    return {"norms",
            "Norms",
            {{"norm", "norm"},
             {"way", "how"},
             {"precision", "precision"},
             {"rows", "rows", Unit::kCount},
             {"width", "width", Unit::kNone},
             {"forward_ns", "forward", Unit::kNanoseconds, "Mean over repetitions."},
             {"forward_deviation_ns", "deviation", Unit::kNanoseconds,
              "Standard deviation between repetitions; of one alone between its samples."},
             {"forward_half_ns", "+-", Unit::kNanoseconds,
              "Half of the 95 % interval of the mean (Student)."},
             {"forward_bytes_per_s", "forward moves", Unit::kBytesPerSecond,
              "Input read and output written, each once, over the time."},
             {"backward_ns", "backward", Unit::kNanoseconds,
              "Gradients of input and parameters; mean over repetitions."},
             {"backward_deviation_ns", "deviation", Unit::kNanoseconds, "Of backward."},
             {"backward_half_ns", "+-", Unit::kNanoseconds, "Of backward."},
             {"backward_bytes_per_s", "backward moves", Unit::kBytesPerSecond,
              "Input and gradient read, the input's gradient written, each once, over the time."},
             {"against_own", "times own", Unit::kNone,
              "Forward + backward over that of the own kernel of the same norm."}},
            {}};
}

std::optional<MeanInterval> meanAt(const Times& times, const run::NormShape& shape,
                                   MachineFigure figure) {
    const auto found = times.find({shape.rows, shape.width, figure});
    return found != times.end() ? analysis::meanOfRuns(found->second) : std::nullopt;
}

std::optional<double> bothOf(const Times& times, const run::NormShape& shape, const Way& way) {
    const auto forward = meanAt(times, shape, way.forward),
               backward = meanAt(times, shape, way.backward);
    if (!forward || !backward) return std::nullopt;
    return forward->mean + backward->mean;
}

/// Mean, deviation, half of the interval, and what `tensors` of the input's size come to a second.
std::vector<Cell> cellsOf(const std::optional<MeanInterval>& time, double tensorBytes,
                          int tensors) {
    constexpr double kNanoseconds = 1e9;
    if (!time) return {{}, {}, {}, {}};
    const auto inNs = [](std::optional<double> seconds) {
        return seconds ? Cell(*seconds * kNanoseconds) : Cell();
    };
    return {inNs(time->mean), inNs(time->deviation),
            time->high ? inNs(*time->high - time->mean) : Cell(),
            Cell(tensors * tensorBytes / time->mean)};
}

void addRows(const run::RunConfig& config, const Times& times, Table& table) {
    const auto shapes = run::parseNormShapes(config.measureNorms);
    if (!shapes) return;
    for (const run::NormShape& shape : *shapes)
        for (const Way& way : kWays) {
            const auto forward = meanAt(times, shape, way.forward),
                       backward = meanAt(times, shape, way.backward);
            if (!forward && !backward) continue;
            const double bytes = static_cast<double>(shape.rows) *
                                 static_cast<double>(shape.width) *
                                 (config.precision == run::Precision::kFloat32 ? 4 : 2);
            std::vector<Cell> row{way.norm, way.way, toWord(config.precision), shape.rows,
                                  shape.width};
            append(cellsOf(forward, bytes, 2), row);
            append(cellsOf(backward, bytes, 3), row);
            // The own one of a norm stands before the others.
            const auto own = std::find_if(kWays.begin(), kWays.end(), [&](const Way& each) {
                return std::string_view(each.norm) == way.norm;
            });
            const auto both = bothOf(times, shape, way), ours = bothOf(times, shape, *own);
            row.push_back(both && ours ? Cell(*both / *ours) : Cell());
            table.rows.push_back(std::move(row));
        }
}

Plot pictureOf(const run::RunConfig& config, const Times& times) {
    Plot plot;
    plot.file = fmt::format("norms_{}", toWord(config.precision));
    plot.title = fmt::format("Forward + backward of norms by width, {}", toWord(config.precision));
    plot.x = {"width", true, {}};
    plot.y = {"time (ms)", true, {}};
    const auto shapes = run::parseNormShapes(config.measureNorms);
    for (const Way& way : kWays) {
        PlotSeries series{fmt::format("{}, {}", way.norm, way.way), {}, true, true};
        for (const run::NormShape& shape : shapes ? *shapes : std::vector<run::NormShape>{})
            if (const auto both = bothOf(times, shape, way))
                series.points.push_back({static_cast<double>(shape.width), *both * 1e3, {}, {}});
        if (!series.points.empty()) plot.series.push_back(std::move(series));
    }
    return plot;
}

Result<BenchResult> conclude(const BenchRequest&, const std::vector<RunResult>& results) {
    BenchResult result;
    result.answer.question = "norms";
    Table table = timesTable();
    std::vector<std::string> limits;
    for (const RunResult& each : results) {
        Times times;
        for (std::size_t i = 0; i < each.recordings.size(); ++i) {
            const auto recording = readMeasuredRecording(each.recordings[i]);
            if (!recording) return failure(recording);
            addTo(times, i, recording->summary);
            addNotedLimits(recording->summary, limits);
        }
        if (times.empty()) continue;
        addRows(each.run.config, times, table);
        if (Plot plot = pictureOf(each.run.config, times); !plot.series.empty())
            result.pictures.push_back(std::move(plot));
    }
    for (const std::string& limit : limits) result.answer.sentences.push_back(limit + '.');
    result.answer.tables.push_back(std::move(table));
    return result;
}

}  // namespace

BenchKind normsBench() {
    return {"norms",
            "layer and RMS norms, forward and backward, by width",
            "A norm is over the last dim of rows x width. One rank measures with all of the host's "
            "threads, or on its GPU; --steps are samples, fewer of what takes long.",
            3,
            plan,
            conclude};
}

}  // namespace shardscope::cli
