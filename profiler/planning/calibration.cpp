#include "profiler/planning/calibration.h"

#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace shardscope::planning {
namespace {

using analysis::SizedTime;
using analysis::Transfer;

/// The same samples always give the same interval.
constexpr std::uint64_t kSeed = 1993;
/// Code of the diagnostic of a run that has more ranks and threads than cores.
constexpr const char* kCrowded = "more-ranks-than-cores";

/// The middle kCoverage of them, in any order.
Interval middleOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        const auto last = static_cast<double>(values.size() - 1);
        return values[static_cast<std::size_t>(std::lround(share * last))];
    };
    return {at((1 - kCoverage) / 2), at((1 + kCoverage) / 2)};
}

/// Not std::uniform_int_distribution, which differs between libraries.
std::size_t drawnBelow(std::size_t count, std::mt19937_64& random) {
    return static_cast<std::size_t>(random() % count);
}

using TimesBySize = std::map<std::int64_t, std::vector<Duration>>;

TimesBySize bySize(const std::vector<SizedTime>& times) {
    TimesBySize sizes;
    for (const auto& [size, time] : times)
        if (size.count > 0 && time.ns > 0) sizes[size.count].push_back(time);
    return sizes;
}

std::vector<SizedTime> resampled(const TimesBySize& sizes, std::mt19937_64& random) {
    std::vector<SizedTime> drawn;
    for (const auto& [size, times] : sizes)
        for (std::size_t i = 0; i < times.size(); ++i)
            drawn.push_back({{size}, times[drawnBelow(times.size(), random)]});
    return drawn;
}

MachineRate rateFrom(const run::MeasuredFigure& what, const std::vector<double>& samples) {
    const bool more = entryOf(what.figure)->moreIsBetter;
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    MachineRate rate;
    rate.what = what;
    rate.best = more ? *most : *least;
    rate.median = analysis::medianOf(samples);
    rate.interval = medianInterval(samples);
    rate.samples = static_cast<std::int32_t>(samples.size());
    return rate;
}

/// By their metrics' names, in the order in which they were measured; of rank 0's host.
std::vector<MachineRate> ratesOf(const std::vector<MetricPoint>& metrics) {
    std::vector<std::pair<run::MeasuredFigure, std::vector<double>>> figures;
    for (const MetricPoint& point : metrics) {
        const auto figure = run::figureOfMetric(point.name);
        if (!figure || figure->host != 0 || !(point.value > 0)) continue;
        const auto is = [&](const auto& each) { return each.first == *figure; };
        auto found = std::find_if(figures.begin(), figures.end(), is);
        if (found == figures.end()) found = figures.insert(found, {*figure, {}});
        found->second.push_back(point.value);
    }
    std::vector<MachineRate> rates;
    for (const auto& [figure, samples] : figures) rates.push_back(rateFrom(figure, samples));
    return rates;
}

/// Of one operation.
std::optional<CollectiveCost> costFrom(CollectiveOp operation,
                                       const std::vector<const Transfer*>& transfers) {
    std::vector<SizedTime> times;
    CollectiveCost cost;
    cost.operation = operation;
    for (const Transfer* each : transfers) {
        const auto time = each->completion();
        if (!time || time->ns <= 0 || each->size == kUnknownSize) continue;
        times.push_back({each->size, *time});
        cost.ranks = std::max(cost.ranks, each->ranks);
        if (const auto factor = analysis::busFactor(operation, each->ranks))
            cost.bestBusBandwidth =
                std::max(cost.bestBusBandwidth.value_or(0),
                         *factor * static_cast<double>(each->size.count) / time->seconds());
    }
    const auto fitted = fitWithInterval(times);
    if (!fitted) return std::nullopt;
    cost.fit = fitted->fit;
    cost.alphaNs = fitted->alphaNs;
    cost.betaNsPerByte = fitted->betaNsPerByte;
    const TimesBySize sizes = bySize(times);
    cost.smallest = {sizes.begin()->first};
    cost.largest = {sizes.rbegin()->first};
    const auto fewest = std::min_element(
        sizes.begin(), sizes.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    cost.rounds = static_cast<std::int32_t>(fewest->second.size());
    return cost;
}

std::vector<CollectiveCost> costsOf(const MeasuredRecording& run, std::int64_t unixS) {
    std::map<CollectiveOp, std::vector<const Transfer*>> operations;
    for (const Transfer& each : run.transfers)
        if (moves(each.operation) && each.group == 0) operations[each.operation].push_back(&each);
    const auto& diagnostics = run.summary.diagnostics;
    std::vector<CollectiveCost> costs;
    for (const auto& [operation, transfers] : operations) {
        auto cost = costFrom(operation, transfers);
        if (!cost) continue;
        cost->communicator = run::communicatorOf(run.config);
        cost->hosts = std::max(1, run::placesOf(run.config).hosts());
        cost->threads = run.config.threads;
        cost->sharedCores = std::any_of(diagnostics.begin(), diagnostics.end(),
                                        [](const Diagnostic& d) { return d.code == kCrowded; });
        cost->unixS = unixS;
        costs.push_back(*cost);
    }
    return costs;
}

bool isSame(const CollectiveCost& a, const CollectiveCost& b) {
    return a.operation == b.operation && a.communicator == b.communicator && a.ranks == b.ranks &&
           a.hosts == b.hosts;
}

/// How far a shape is from another: the sum of the logarithms of the three ratios.
double distance(const run::MeasuredFigure& figure, std::int64_t rows, std::int64_t inner,
                std::int64_t columns) {
    const auto apart = [](std::int64_t a, std::int64_t b) {
        return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(1, a)) /
                                 static_cast<double>(std::max<std::int64_t>(1, b))));
    };
    return apart(figure.rows, rows) + apart(figure.inner, inner) + apart(figure.columns, columns);
}

/// As from `from.ranks` ranks to `ranks`; the same where either has none to compare.
analysis::AlphaBeta scaled(const CollectiveCost& from, std::int32_t ranks) {
    analysis::AlphaBeta cost = from.fit;
    const auto factor = analysis::busFactor(from.operation, ranks),
               known = analysis::busFactor(from.operation, from.ranks);
    if (!factor || !known) return cost;
    cost.latencyNs *= static_cast<double>(ranks - 1) / (from.ranks - 1);
    cost.nsPerByte *= *factor / *known;
    return cost;
}

/// Threads of a rank, as a run settles them.
std::int32_t threadsOf(const run::RunConfig& config, std::int32_t cores) {
    if (config.threads > 0) return config.threads;
    return std::max(1, cores / config.ranks);
}

/// Of each operation and number of ranks.
std::optional<LinkTimes> linkOf(const Calibration& calibration, const run::RunConfig& config) {
    const run::CommunicatorKind wanted = run::communicatorOf(config);
    std::optional<LinkTimes> link;
    for (const CollectiveCost& each : calibration.collectives) {
        if (each.communicator != wanted || each.hosts != 1 || each.ranks < 2) continue;
        if (!link)
            link.emplace(theory::LinkModel{},
                         fmt::format("{} as calibrated", entryOf(wanted)->name));
        analysis::AlphaBeta fit = each.fit;
        fit.most = each.largest;
        link->set(each.operation, each.ranks, fit);
    }
    return link;
}

constexpr std::string_view kMeasuring = "Measuring ";

}  // namespace

Interval medianInterval(const std::vector<double>& samples) {
    std::mt19937_64 random(kSeed);
    std::vector<double> medians, drawn(samples.size());
    for (int i = 0; i < kResamples; ++i) {
        for (double& each : drawn) each = samples[drawnBelow(samples.size(), random)];
        medians.push_back(analysis::medianOf(drawn));
    }
    return middleOf(std::move(medians));
}

std::optional<FittedCost> fitWithInterval(const std::vector<SizedTime>& times) {
    const auto fit = analysis::fitAlphaBeta(times);
    if (!fit) return std::nullopt;
    const TimesBySize sizes = bySize(times);
    std::mt19937_64 random(kSeed);
    std::vector<double> alphas, betas;
    for (int i = 0; i < kResamples; ++i) {
        const auto again = analysis::fitAlphaBeta(resampled(sizes, random));
        alphas.push_back(again->latencyNs);  // it has the sizes that the fit has
        betas.push_back(again->nsPerByte);
    }
    return FittedCost{*fit, middleOf(std::move(alphas)), middleOf(std::move(betas))};
}

std::optional<double> matmulFlops(const Calibration& calibration, run::Precision precision) {
    std::optional<double> best;
    for (const MachineRate& rate : calibration.rates)
        if (rate.what.figure == run::MachineFigure::kMatmul && rate.what.precision == precision)
            best = std::max(best.value_or(0), rate.best);
    return best;
}

std::optional<double> matmulFlops(const Calibration& calibration, run::Precision precision,
                                  std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    const MachineRate* nearest = nullptr;
    for (const MachineRate& rate : calibration.rates) {
        if (rate.what.figure != run::MachineFigure::kMatmul || rate.what.precision != precision)
            continue;
        if (nearest == nullptr || distance(rate.what, rows, inner, columns) <
                                      distance(nearest->what, rows, inner, columns))
            nearest = &rate;
    }
    return nearest != nullptr ? std::optional(nearest->best) : std::nullopt;
}

std::optional<double> rateOf(const Calibration& calibration, run::MachineFigure figure) {
    for (const MachineRate& rate : calibration.rates)
        if (rate.what.figure == figure) return rate.best;
    return std::nullopt;
}

std::optional<PredictedCost> costOf(const Calibration& calibration, CollectiveOp operation,
                                    run::CommunicatorKind communicator, std::int32_t ranks,
                                    std::int32_t hosts) {
    const CollectiveCost* nearest = nullptr;
    for (const CollectiveCost& each : calibration.collectives) {
        if (each.operation != operation || each.communicator != communicator || each.hosts != hosts)
            continue;
        if (nearest == nullptr || std::abs(each.ranks - ranks) < std::abs(nearest->ranks - ranks))
            nearest = &each;
    }
    if (nearest == nullptr) return std::nullopt;
    const bool measured = nearest->ranks == ranks;
    return PredictedCost{measured ? nearest->fit : scaled(*nearest, ranks), measured, nearest};
}

std::string ageText(std::int64_t unixS, std::int64_t nowS) {
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    constexpr std::array kUnits{Unit{24LL * 3600, "day"}, Unit{3600, "hour"}, Unit{60, "minute"}};
    const std::int64_t age = nowS - unixS;
    for (const Unit& unit : kUnits) {
        const std::int64_t count = age / unit.seconds;
        if (count >= 1) return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
    }
    return "less than a minute";
}

Calibration calibrationOf(const MeasuredRecording& run) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    Calibration calibration;
    calibration.kind = run.config.device;
    calibration.product = run.summary.run.product;
    calibration.unixS = run.summary.run.startedUnixNs / kNsPerSecond;
    const auto& hosts = run.summary.hosts;
    const auto first = std::find_if(hosts.begin(), hosts.end(),
                                    [](const HostFacts& host) { return host.host == 0; });
    if (first != hosts.end()) {
        calibration.host = first->name;
        calibration.device = first->cpu;
        calibration.cores = first->cores;
    }
    if (run.config.device == run::Device::kCuda)
        calibration.device = run.summary.devices.empty() ? "" : run.summary.devices.front().name;
    calibration.rates = ratesOf(run.summary.metrics);
    for (MachineRate& rate : calibration.rates) rate.unixS = calibration.unixS;
    calibration.collectives = costsOf(run, calibration.unixS);
    return calibration;
}

namespace {

bool isBetter(const MachineRate& a, const MachineRate& b) {
    return entryOf(a.what.figure)->moreIsBetter ? a.best > b.best : a.best < b.best;
}

void keepBetter(const Calibration& older, Calibration& newer) {
    for (MachineRate& rate : newer.rates)
        for (const MachineRate& before : older.rates)
            if (before.what == rate.what && newer.unixS - before.unixS <= kOldCalibrationS &&
                isBetter(before, rate))
                rate = before;
}

}  // namespace

Calibration merged(Calibration newer, const Calibration& older) {
    if (newer.rates.empty()) {
        newer.rates = older.rates;
        newer.unixS = older.rates.empty() ? newer.unixS : older.unixS;
        newer.quick = older.rates.empty() ? newer.quick : older.quick;
    }
    keepBetter(older, newer);
    for (const CollectiveCost& each : older.collectives) {
        const auto& known = newer.collectives;
        const auto is = [&](const CollectiveCost& other) { return isSame(each, other); };
        if (std::none_of(known.begin(), known.end(), is)) newer.collectives.push_back(each);
    }
    const auto order = [](const CollectiveCost& cost) {
        return std::tuple(cost.hosts, cost.communicator, cost.ranks, cost.operation);
    };
    std::stable_sort(newer.collectives.begin(), newer.collectives.end(),
                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
    return newer;
}

std::optional<PlanTimes> timesOfCalibration(const Calibration& calibration,
                                            const run::RunConfig& config, std::int64_t nowS) {
    const auto flops = matmulFlops(calibration, config.precision);
    const auto bytes = rateOf(calibration, run::MachineFigure::kTriad);
    if (!flops || !bytes) return std::nullopt;
    const bool cpu = calibration.kind == run::Device::kCpu;
    const Utilisation& utilisation = cpu ? kCpuUtilisation : kUsualUtilisation;
    run::RunConfig own = config;
    double share = 1;
    if (cpu) {
        own.threads = threadsOf(config, calibration.cores);
        share = std::min(1.0, static_cast<double>(own.threads) / calibration.cores);
    }
    PlanTimes times;
    ComputeTimes computing =
        timesAt(own, {share * *flops, share * *bytes, "calibrate"}, utilisation);
    computing.ranksOnHost = 1;
    computing.cores = cpu ? calibration.cores : 0;
    times.computing.push_back(computing);
    times.link = linkOf(calibration, config);
    times.ranksOnHost = kMostPlannedRanks;
    times.source =
        fmt::format("matrix products at {:.0f} % of what `calibrate` measured on {} {} ago",
                    100 * utilisation.expected, calibration.host, ageText(calibration.unixS, nowS));
    return times;
}

std::string textOf(const CalibrationProgress& progress) {
    return fmt::format("{}{} ({} of {}).", kMeasuring, progress.subject, progress.run,
                       progress.runs);
}

std::optional<CalibrationProgress> parseCalibrationProgress(std::string_view line) {
    const auto open = line.rfind(" (");
    if (!line.starts_with(kMeasuring) || open == std::string_view::npos || open < kMeasuring.size())
        return std::nullopt;
    CalibrationProgress progress{
        std::string(line.substr(kMeasuring.size(), open - kMeasuring.size()))};
    const char* const end = line.data() + line.size();
    constexpr std::string_view kOf = " of ";
    const auto run = std::from_chars(line.data() + open + 2, end, progress.run);
    if (run.ec != std::errc() || !std::string_view(run.ptr, end).starts_with(kOf))
        return std::nullopt;
    const auto runs = std::from_chars(run.ptr + kOf.size(), end, progress.runs);
    if (runs.ec != std::errc() || !std::string_view(runs.ptr, end).starts_with(").") ||
        progress.run < 1 || progress.run > progress.runs)
        return std::nullopt;
    return progress;
}

}  // namespace shardscope::planning
