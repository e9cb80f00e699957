#include "app/desktop/pages/communication/layer_columns.h"

#include "app/desktop/models/format.h"
#include "engine/run/config/run_config.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::ExposureKind;
using analysis::ExposureSum;

QString axisLabel(LayerIndex layer) {
    if (layer == kRootLayer) return u"embedding, head"_s;
    if (layer == kNoLayer) return u"no layer"_s;
    return QString::number(layer.value);
}

/// Embedding and head, blocks in their order, then what belongs to no layer.
int placeOf(LayerIndex layer) {
    if (layer == kRootLayer) return -1;
    return layer == kNoLayer ? std::numeric_limits<int>::max() : static_cast<int>(layer.value);
}

struct Scale {
    const char16_t* unit;
    double perNs;
};
Scale scaleOf(const LayerSums& sums, std::size_t rankSteps) {
    Duration longest;
    for (const auto& [kind, sum] : sums) longest = std::max(longest, sum.whole);
    const double each = 1 / static_cast<double>(std::max<std::size_t>(1, rankSteps));
    const double ns = static_cast<double>(longest.ns) * each;
    if (ns >= 2e9) return {u"s", 1e-9 * each};
    if (ns >= 2e6) return {u"ms", 1e-6 * each};
    return {u"µs", 1e-3 * each};
}

/// Of each step and rank, where it is known how many there are; else all together.
QString timeText(Duration sum, std::size_t rankSteps) {
    if (rankSteps == 0) return formatDuration(sum);
    return u"%1 per step"_s.arg(
        formatDuration(Duration{sum.ns / static_cast<std::int64_t>(rankSteps)}));
}

StackedBar columnOf(const ExposureKind& kind, const ExposureSum& sum, const Scale& scale,
                    std::size_t rankSteps) {
    StackedBar bar;
    bar.label = kindText(kind);
    const auto add = [&](Duration time, Meaning meaning, const QString& name, bool pale) {
        if (time.ns > 0)
            bar.segments.push_back({static_cast<double>(time.ns) * scale.perNs, meaning, name,
                                    timeText(time, rankSteps), pale});
    };
    const QString exposed = sum.waitingKnown ? u"exposed, moving"_s : u"exposed"_s;
    if (sum.waitingKnown)
        add(sum.waiting, waitingMeaningOf(kind.second), u"exposed, waiting"_s, false);
    add(sum.waitingKnown ? sum.moving : sum.exposed(), meaningOf(kind.second), exposed, false);
    add(sum.hidden, meaningOf(kind.second), u"hidden"_s, true);
    bar.total = u"%1 in all, %2 on all ranks"_s.arg(
        formatDuration(sum.whole),
        sum.count == 1 ? u"1 collective"_s : u"%1 collectives"_s.arg(formatCount(sum.count)));
    if (rankSteps != 0) bar.total = timeText(sum.whole, rankSteps) + u"; "_s + bar.total;
    return bar;
}

/// What is drawn of each kind.
std::vector<LegendEntry> legendOf(const LayerSums& sums) {
    std::map<CollectiveOp, ExposureSum> byKind;
    for (const auto& [kind, sum] : sums) {
        ExposureSum& all = byKind[kind.second];
        all.hidden += sum.hidden;
        all.waiting += sum.waiting;
        all.moving += sum.moving;
        all.waitingKnown = all.waitingKnown && sum.waitingKnown;
    }
    std::vector<LegendEntry> entries;
    for (const auto& [operation, sum] : byKind) {
        const QString word = QString::fromLatin1(toWord(operation));
        if (sum.waiting.ns > 0)
            entries.push_back({u"%1 waiting"_s.arg(word), waitingMeaningOf(operation)});
        if (sum.moving.ns > 0)
            entries.push_back(
                {sum.waitingKnown ? u"%1 exposed, moving"_s.arg(word) : u"%1 exposed"_s.arg(word),
                 meaningOf(operation)});
        if (sum.hidden.ns > 0)
            entries.push_back({u"%1 hidden"_s.arg(word), meaningOf(operation), false, true});
    }
    return entries;
}

using analysis::Transfer;
using analysis::TransferClass;

constexpr double kPerDecade = 40;  ///< distinguishable points
constexpr std::size_t kMostFits = 4;
constexpr int kFitPoints = 32;
constexpr double kGiga = 1e9, kMega = 1e6;
/// Below it bandwidths are in MB/s, so that small ones need fewer zeros.
constexpr double kLeastGiga = 10 * kGiga;
constexpr double kKibi = 1024;

std::optional<double> bandwidthOf(const Transfer& transfer, Bandwidth bandwidth) {
    return bandwidth == Bandwidth::kBus ? transfer.busBandwidth() : transfer.algorithmBandwidth();
}

bool byPlace(const QPointF& a, const QPointF& b) {
    return std::pair(a.x(), a.y()) < std::pair(b.x(), b.y());
}

std::pair<int, int> cellOf(const QPointF& point) {
    const auto place = [](double value) {
        return static_cast<int>(std::lround(std::log10(value) * kPerDecade));
    };
    return {place(point.x()), place(point.y())};
}

/// Bytes a second that are one of the chart's unit.
double unitOf(const std::vector<Transfer>& transfers, Bandwidth bandwidth) {
    double best = 0;
    for (const Transfer& transfer : transfers)
        best = std::max(best, bandwidthOf(transfer, bandwidth).value_or(0));
    return best >= kLeastGiga ? kGiga : kMega;
}

std::vector<LineSeries> dots(const std::vector<Transfer>& transfers, Bandwidth bandwidth,
                             double unit) {
    std::map<CollectiveOp, std::map<std::pair<int, int>, QPointF>> byOperation;
    for (const Transfer& transfer : transfers) {
        const auto rate = bandwidthOf(transfer, bandwidth);
        if (!rate || *rate <= 0 || transfer.size.count <= 0) continue;
        const QPointF point{static_cast<double>(transfer.size.count) / kKibi, *rate / unit};
        byOperation[transfer.operation].try_emplace(cellOf(point), point);
    }
    std::vector<LineSeries> series;
    for (const auto& [operation, cells] : byOperation) {
        LineSeries& line = series.emplace_back();
        line.name = QString::fromLatin1(toWord(operation));
        line.meaning = meaningOf(operation);
        line.dots = true;
        line.joined = false;
        for (const auto& [cell, point] : cells) line.points.push_back(point);
        std::sort(line.points.begin(), line.points.end(), byPlace);
    }
    return series;
}

/// Smallest and largest size of an operation in a group.
std::pair<double, double> sizesOf(const std::vector<Transfer>& transfers,
                                  const TransferClass& each) {
    double low = 0, high = 0;
    for (const Transfer& transfer : transfers) {
        if (transfer.operation != each.operation || transfer.group != each.group) continue;
        if (transfer.size.count <= 0 || transfer.size == kUnknownSize) continue;
        const auto size = static_cast<double>(transfer.size.count);
        low = low == 0 ? size : std::min(low, size);
        high = std::max(high, size);
    }
    return {low, high};
}

std::optional<LineSeries> fitLine(const std::vector<Transfer>& transfers, const TransferClass& each,
                                  Bandwidth bandwidth, double unit) {
    const auto factor = bandwidth == Bandwidth::kBus
                            ? analysis::busFactor(each.operation, each.ranks)
                            : std::optional(1.0);
    const auto [low, high] = sizesOf(transfers, each);
    if (!each.fit || !factor || low <= 0 || high <= low) return std::nullopt;
    LineSeries line;
    line.name =
        u"%1, fit to the last rank's end"_s.arg(QString::fromLatin1(toWord(each.operation)));
    line.meaning = meaningOf(each.operation);
    for (int i = 0; i <= kFitPoints; ++i) {
        const double size = low * std::pow(high / low, static_cast<double>(i) / kFitPoints);
        const double time = each.fit->latencyNs + each.fit->nsPerByte * size;
        if (time > 0)  // bytes a nanosecond are GB a second
            line.points.push_back({size / kKibi, *factor * size / time * kGiga / unit});
    }
    return line;
}

/// Bytes a second.
std::optional<double> modelledPeak(const OpenRecording& recording) {
    const auto config = run::parseRunConfigJson(recording.summary.run.configJson);
    if (!config || config->linkGigabytesPerSecond <= 0) return std::nullopt;
    return config->linkGigabytesPerSecond * kGiga;
}

/// Of a modelled link what it was given, which is a bus bandwidth; else the best that was seen.
std::vector<ChartMark> peaksOf(const std::vector<LineSeries>& dots, const OpenRecording& recording,
                               Bandwidth bandwidth, double unit) {
    const auto modelled = modelledPeak(recording);
    if (modelled && bandwidth == Bandwidth::kBus)
        return {{*modelled / unit, u"link as modelled, %1"_s.arg(formatSi(*modelled, u"B/s"_s))}};
    double best = 0;
    for (const LineSeries& line : dots)
        for (const QPointF& point : line.points) best = std::max(best, point.y());
    if (modelled || best <= 0) return {};
    return {{best, u"best seen, %1"_s.arg(formatSi(best * unit, u"B/s"_s))}};
}

QString emptyText(const std::vector<Transfer>& transfers) {
    if (transfers.empty()) return u"No collectives in the selection."_s;
    const auto sized = std::count_if(transfers.begin(), transfers.end(), [](const auto& each) {
        return moves(each.operation) && each.size != kUnknownSize;
    });
    if (sized == 0) return u"Bandwidth unknown: sizes of collectives were not recorded."_s;
    return u"Bandwidth unknown: not every rank of a group is recorded, or selected."_s;
}

}  // namespace

QString kindText(const ExposureKind& kind) {
    const QString word = QString::fromLatin1(toWord(kind.second));
    return kind.first == kNoLayer ? u"%1, no layer"_s.arg(word)
                                  : u"%1, %2"_s.arg(word, formatLayer(kind.first));
}

Meaning waitingMeaningOf(CollectiveOp operation) {
    switch (meaningOf(operation)) {
        case Meaning::kGather:
            return Meaning::kWaitGather;
        case Meaning::kReduction:
            return Meaning::kWaitReduction;
        default:
            return Meaning::kWaitOther;
    }
}

LayerColumns layerColumns(const LayerSums& sums, std::size_t rankSteps,
                          std::optional<ExposureKind> chosen) {
    LayerColumns shown;
    const Scale scale = scaleOf(sums, rankSteps);
    shown.unit = QString::fromUtf16(scale.unit);
    shown.legend = legendOf(sums);
    std::vector<const LayerSums::value_type*> sorted;
    for (const auto& each : sums) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return placeOf(a->first.first) < placeOf(b->first.first);
    });
    std::optional<LayerIndex> layer;
    for (const auto* each : sorted) {
        const auto& [kind, sum] = *each;
        if (layer != kind.first) {
            layer = kind.first;
            shown.groups.push_back({axisLabel(kind.first), {}});
            shown.kinds.emplace_back();
        }
        StackedBar bar = columnOf(kind, sum, scale, rankSteps);
        bar.emphasised = !chosen || *chosen == kind;
        shown.groups.back().columns.push_back(std::move(bar));
        shown.kinds.back().push_back(kind);
    }
    return shown;
}

BandwidthChart bandwidthChart(const questions::Communication& communication,
                              const OpenRecording& recording, Bandwidth bandwidth) {
    BandwidthChart chart;
    const bool bus = bandwidth == Bandwidth::kBus;
    chart.title = bus ? u"Bus bandwidth"_s : u"Algorithm bandwidth"_s;
    const double unit = unitOf(communication.transfers, bandwidth);
    chart.unit = unit == kGiga ? u"GB/s"_s : u"MB/s"_s;
    if (modelledPeak(recording)) chart.unit += u", modelled link"_s;
    chart.bottomTitle = u"size"_s;
    chart.definition =
        (bus ? u"Bus bandwidth: algorithm bandwidth × 2 (n − 1) / n for all-reduce, (n − 1) / n "
               u"for all-gather, reduce-scatter and all-to-all, 1 for broadcast: it compares with "
               u"the link's own."_s
             : u"Algorithm bandwidth: size / time that data moved, from the last rank's arrival "
               u"on."_s) +
        u"\nFit: time = α + β × size through the shortest time of each size; drawn "
        u"where there are two sizes, one at least twice the other.\nDashed: the link as "
        u"it was modelled, else the best of these collectives; what the link could do "
        u"at most was not measured.\nOverlapping collectives are drawn as one point."_s;
    chart.series = dots(communication.transfers, bandwidth, unit);
    chart.peaks = peaksOf(chart.series, recording, bandwidth, unit);
    chart.empty = emptyText(communication.transfers);
    std::size_t fits = 0;
    for (const TransferClass& each : communication.classes) {
        auto line = fitLine(communication.transfers, each, bandwidth, unit);
        if (!line || fits++ >= kMostFits) continue;
        chart.series.push_back(std::move(*line));
    }
    return chart;
}

}  // namespace shardscope::desktop
