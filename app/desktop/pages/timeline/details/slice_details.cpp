#include "app/desktop/pages/timeline/details/slice_details.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "profiler/analysis/communication/collective_figures.h"
#include "storage/model/lanes.h"
#include "storage/model/step_names.h"

#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

using Rows = std::vector<std::pair<QString, QString>>;

QString word(const char* text) {
    return QString::fromLatin1(text);
}

void addCommon(const SliceView& slice, Rows& rows) {
    if (slice.step != kNoStep) rows.emplace_back(u"step"_s, QString::number(slice.step.value));
    if (slice.layer != kNoLayer) rows.emplace_back(u"layer"_s, formatLayer(slice.layer));
    if (slice.phase != Phase::kNone) rows.emplace_back(u"phase"_s, word(toWord(slice.phase)));
}

void addTimes(const SliceView& slice, Rows& rows) {
    rows.emplace_back(u"start"_s, formatInstant(slice.range.begin, {1000}));
    rows.emplace_back(u"duration"_s, formatDuration(slice.range.duration()));
}

void addCollective(const OpenRecording& recording, RankId rank, const CollectiveView& view,
                   SliceDetails& details) {
    const CollectiveEvent& event = view.event;
    Rows& rows = details.rows;
    const std::vector<RankId>& members = view.members;
    const Duration waited = event.lastArrival() - event.start;
    rows.emplace_back(u"cause"_s, word(toWord(event.cause)));
    if (event.size != kUnknownSize) rows.emplace_back(u"bytes"_s, formatBytes(event.size));
    rows.emplace_back(u"issued"_s, formatInstant(event.issue, {1000}));
    rows.emplace_back(u"queued"_s, formatDuration(event.start - event.issue));
    QString waitText = formatDuration(waited);
    if (const auto last = analysis::lastToArrive(event, members); last && waited.ns > 0)
        waitText +=
            recording.report.clocks.tellsLast(event, members)
                ? u" for rank %1"_s.arg(last->value)
                : u", for which rank is unknown: within the uncertainty of the hosts' clocks"_s;
    rows.emplace_back(u"waited"_s, waitText);
    rows.emplace_back(u"moved in"_s, formatDuration(event.end - event.lastArrival()));
    if (const auto bandwidth = analysis::busBandwidth(event))
        rows.emplace_back(u"bus bandwidth"_s,
                          ValueText{formatNumber(*bandwidth * 1e-9), u"GB/s"_s}.joined());
    rows.emplace_back(u"not behind compute"_s, formatDuration(view.notBehindCompute));
    if (event.group != 0)
        rows.emplace_back(u"group"_s, formatCount(static_cast<std::int64_t>(event.group)));
    rows.emplace_back(u"sequence"_s, formatCount(static_cast<std::int64_t>(event.sequence)));
    for (std::size_t i = 0; i < event.arrivals.size(); ++i) {
        const RankId peer = analysis::memberAt(members, i);
        const auto theirs = view.peers.find(peer);
        details.arrivals.push_back({peer, event.arrivals[i], event.lastArrival(),
                                    theirs != view.peers.end() ? theirs->second.end : event.end,
                                    peer == rank});
    }
}

/// "RS" of "reduce-scatter", "BR" of "broadcast"; the legend explains those of the strategies.
QString shortCollective(CollectiveOp operation) {
    const QStringList parts = word(toWord(operation)).split(u'-');
    if (parts.size() == 1) return parts.front().left(2).toUpper();
    QString initials;
    for (const QString& part : parts) initials += part.front();
    return initials.toUpper();
}

/// Steps are pale; of what is below them only the optimizer and the like have a colour.
Meaning meaningOfStretch(const SliceView& slice) {
    if (slice.depth == 0) return Meaning::kIdle;
    for (Phase phase : {Phase::kOptimizer, Phase::kEvaluation, Phase::kData}) {
        if (slice.name == QLatin1String(toWord(phase))) return meaningOf(phase);
    }
    return Meaning::kHost;
}

/// A kernel computes whatever it was launched for; only what is not the model differs.
Meaning meaningOfKernel(const SliceView& slice) {
    switch (slice.phase) {
        case Phase::kOptimizer:
        case Phase::kClip:
            return Meaning::kOptimizer;
        case Phase::kEvaluation:
            return Meaning::kEvaluation;
        default:
            return Meaning::kCompute;
    }
}

QString titleOf(LaneRole role, const SliceView& slice) {
    if (slice.count > 1) {
        return u"%1 events, mostly %2"_s.arg(formatCount(slice.count), wholeName(slice.name));
    }
    if (slice.onDevice) return wholeName(slice.name);
    if (role != LaneRole::kHost && slice.layer != kNoLayer &&
        !slice.name.contains(formatLayer(slice.layer))) {
        return u"%1 · %2"_s.arg(slice.name, formatLayer(slice.layer));
    }
    return slice.name;
}

}  // namespace

SliceDetails sliceDetails(const OpenRecording& recording, const LaneFacts& lane,
                          const SliceView& slice, const CollectiveView* collective) {
    SliceDetails details;
    details.title = titleOf(lane.role, slice);
    details.meaning = sliceMeaning(lane.role, slice);
    details.rows.emplace_back(u"rank"_s, QString::number(lane.rank.value));
    details.rows.emplace_back(u"lane"_s, fromUtf8(lane.name));
    if (slice.count > 1) {
        addTimes(slice, details.rows);
        details.rows.emplace_back(u"busy"_s, formatDuration(slice.busy));
        details.rows.emplace_back(u"zoom in"_s, u"to see them one by one"_s);
        return details;
    }
    addCommon(slice, details.rows);
    addTimes(slice, details.rows);
    const Rows known = tracedRows(lane.role, slice);
    details.rows.insert(details.rows.end(), known.begin(), known.end());
    details.arguments = otherArguments(slice);
    if (isTracedLane(lane.lane)) {
        details.code = wholeKernelName(slice);
        return details;
    }
    if (lane.role == LaneRole::kCommunication) {
        if (collective != nullptr) addCollective(recording, lane.rank, *collective, details);
    } else if (slice.correlation != 0) {
        details.rows.emplace_back(u"correlation"_s,
                                  formatCount(static_cast<std::int64_t>(slice.correlation)));
    }
    return details;
}

QString spokenSlice(const SliceDetails& details) {
    QStringList words{details.title};
    for (const auto& [name, value] : details.rows) words << name + u' ' + value;
    return words.join(u", "_s);
}

namespace {

/// Not whatever else lies within a step on a lane of ranges.
bool isStep(const SliceView& slice) {
    return slice.name == QLatin1StringView(lanes::kSteps.name) ||
           stepIn(slice.name.toStdString()).has_value();
}

}  // namespace

std::vector<QString> sliceLabels(LaneRole role, const SliceView& slice) {
    if (slice.count > 1) {
        if (role == LaneRole::kHost || role == LaneRole::kRuntime || role == LaneRole::kSync)
            return {};
        return {u"%1 ×"_s.arg(formatCount(slice.count))};
    }
    if (role == LaneRole::kRange && slice.depth == 0 && slice.step != kNoStep && isStep(slice)) {
        return {u"step %1"_s.arg(slice.step.value), QString::number(slice.step.value)};
    }
    if (slice.onDevice) return {slice.name};
    const QString layer = slice.layer == kRootLayer ? u"root"_s
                          : slice.layer == kNoLayer ? QString()
                                                    : u"block %1"_s.arg(slice.layer.value);
    const QString index = slice.layer == kRootLayer ? u"r"_s
                          : slice.layer == kNoLayer ? QString()
                                                    : QString::number(slice.layer.value);
    if (role == LaneRole::kCommunication && slice.operation) {
        const QString code = shortCollective(*slice.operation);
        if (layer.isEmpty()) return {slice.name, code};
        return {u"%1 %2"_s.arg(slice.name, layer), u"%1 %2"_s.arg(code, layer),
                u"%1 %2"_s.arg(code, index)};
    }
    if (role == LaneRole::kCompute) {
        if (layer.isEmpty()) return {slice.name};
        if (slice.name.endsWith(layer)) return {slice.name, layer, index};
        return {u"%1 %2"_s.arg(slice.name, layer), layer, index};
    }
    return {slice.name};
}

Meaning sliceMeaning(LaneRole role, const SliceView& slice) {
    switch (role) {
        case LaneRole::kCompute:
            return slice.onDevice ? meaningOfKernel(slice) : meaningOf(slice.phase);
        case LaneRole::kSync:
            return Meaning::kIdle;
        case LaneRole::kCommunication:
            return slice.operation ? meaningOf(*slice.operation) : Meaning::kOtherCollective;
        case LaneRole::kHost:
            if (slice.name.contains("copy"_L1)) return Meaning::kCopy;
            return slice.phase == Phase::kOptimizer || slice.phase == Phase::kClip
                       ? Meaning::kOptimizer
                       : Meaning::kCompute;
        case LaneRole::kCopy:
            return Meaning::kCopy;
        case LaneRole::kRange:
            return meaningOfStretch(slice);
        default:
            return Meaning::kHost;
    }
}

Rows sliceHover(LaneRole role, const SliceView& slice) {
    Rows rows{{titleOf(role, slice), formatDuration(slice.range.duration())}};
    if (slice.count > 1) {
        rows.emplace_back(u"busy"_s, formatDuration(slice.busy));
        return rows;
    }
    addCommon(slice, rows);
    if (slice.waitedUntil > slice.range.begin) {
        rows.emplace_back(u"waiting for a peer"_s,
                          formatDuration(slice.waitedUntil - slice.range.begin));
    }
    rows.emplace_back(u"start"_s, formatInstant(slice.range.begin, {1000}));
    return rows;
}

}  // namespace shardscope::desktop
