#include "app/desktop/pages/timeline/device_slice.h"

#include "app/desktop/models/format.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Rows = std::vector<std::pair<QString, QString>>;

QJsonObject argumentsOf(const SliceView& slice) {
    return QJsonDocument::fromJson(slice.arguments.toUtf8()).object();
}

QString triple(const QJsonArray& sizes) {
    QStringList words;
    for (const auto& size : sizes) words << formatCount(size.toInteger());
    return words.join(u" × "_s);
}

std::int64_t product(const QJsonArray& sizes) {
    std::int64_t all = 1;
    for (const auto& size : sizes) all *= size.toInteger();
    return all;
}

void addLaunchConfiguration(const QJsonObject& object, Rows& rows) {
    const QJsonArray grid = object["grid"_L1].toArray();
    const QJsonArray block = object["block"_L1].toArray();
    if (grid.isEmpty() || block.isEmpty()) return;
    rows.emplace_back(u"grid"_s, triple(grid));
    rows.emplace_back(u"block"_s, triple(block));
    rows.emplace_back(u"threads"_s, formatCount(product(grid) * product(block)));
    rows.emplace_back(u"registers"_s, u"%1 per thread"_s.arg(object["registers"_L1].toInteger()));
    const Bytes shared{object["shared_bytes"_L1].toInteger()};
    rows.emplace_back(u"shared memory"_s,
                      shared.count == 0 ? u"none"_s : formatBytes(shared) + u" per block"_s);
}

void addBytes(const QJsonObject& object, const SliceView& slice, Rows& rows) {
    if (!object.contains("bytes"_L1)) return;
    const Bytes bytes{object["bytes"_L1].toInteger()};
    rows.emplace_back(u"bytes"_s, formatBytes(bytes));
    if (const QString from = object["from"_L1].toString(); !from.isEmpty())
        rows.emplace_back(u"from"_s, from);
    if (const QString to = object["to"_L1].toString(); !to.isEmpty())
        rows.emplace_back(u"to"_s, to);
    if (slice.range.duration().ns > 0) {
        rows.emplace_back(
            u"rate"_s, formatSi(static_cast<double>(bytes.count) / slice.range.duration().seconds(),
                                u"B/s"_s));
    }
}

void addNumber(const QJsonObject& object, const char* key, const QString& name, Rows& rows) {
    const auto value = object[QLatin1String(key)];
    if (value.isDouble()) rows.emplace_back(name, QString::number(value.toInteger()));
}

QString laneName(const RecordingSummary& summary, LaneAddress key) {
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank == key.rank && lane.lane == key.lane) return fromUtf8(lane.name);
    }
    return {};
}

}  // namespace

bool mayBeLinked(LaneId lane, const SliceView& slice) {
    return isTracedLane(lane) && slice.count == 1 && slice.correlation != 0;
}

Rows tracedRows(LaneRole role, const SliceView& slice) {
    const QJsonObject object = argumentsOf(slice);
    Rows rows;
    if (const QString name = object["operator"_L1].toString(); !name.isEmpty())
        rows.emplace_back(u"operator"_s, name);
    addLaunchConfiguration(object, rows);
    addBytes(object, slice, rows);
    if (role == LaneRole::kSync) addNumber(object, "stream", u"waits for stream"_s, rows);
    addNumber(object, "recorded_on_stream", u"recorded on stream"_s, rows);
    addNumber(object, "event", u"event"_s, rows);
    addNumber(object, "graph", u"graph"_s, rows);
    addNumber(object, "graph_node", u"graph node"_s, rows);
    addNumber(object, "error", u"CUDA error"_s, rows);
    return rows;
}

QString wholeKernelName(const SliceView& slice) {
    return argumentsOf(slice)["kernel"_L1].toString();
}

std::optional<CollectiveOp> collectiveOfKernel(const QString& name) {
    if (!name.startsWith("nccl"_L1)) return std::nullopt;
    for (const CollectiveWords& words : kWords<CollectiveOp>) {
        const bool shared = words.kernel == std::string_view("SendRecv");
        if (!shared && name.contains(QLatin1String(words.kernel))) return words.value;
    }
    return std::nullopt;
}

LinkTexts linkTexts(const RecordingSummary& summary, LaneAddress from, const SliceView& slice,
                    const std::vector<LinkedSlice>& links) {
    LinkTexts texts;
    const bool onStream = isStreamLane(from.lane);
    if (links.empty()) {
        if (onStream) texts.rows.emplace_back(u"launched by"_s, u"call not recorded"_s);
        return texts;
    }
    const LinkedSlice& first = links.front();
    if (onStream) {
        texts.rows.emplace_back(u"launched by"_s, first.slice.name);
        texts.rows.emplace_back(u"launch to start"_s,
                                formatDuration(slice.range.begin - first.slice.range.begin));
        texts.action = u"Go to the launch"_s;
    } else if (isStreamLane(first.key.lane)) {
        texts.rows.emplace_back(
            u"started"_s,
            links.size() == 1
                ? first.slice.name
                : u"%1 on the device"_s.arg(formatCount(static_cast<std::int64_t>(links.size()))));
        texts.rows.emplace_back(u"runs on"_s, laneName(summary, first.key));
        texts.rows.emplace_back(u"launch to start"_s,
                                formatDuration(first.slice.range.begin - slice.range.begin));
        texts.action = u"Go to what it started"_s;
    } else {
        const bool forward = first.slice.range.begin >= slice.range.begin;
        texts.rows.emplace_back(!first.byArrow ? u"belongs to"_s
                                : forward      ? u"arrow to"_s
                                               : u"arrow from"_s,
                                first.slice.name);
        if (first.byArrow && links.size() > 1)
            texts.rows.emplace_back(u"arrows"_s,
                                    formatCount(static_cast<std::int64_t>(links.size())));
        texts.action = u"Go to it"_s;
    }
    return texts;
}

}  // namespace shardscope::desktop
