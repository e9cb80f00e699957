#include "app/desktop/pages/timeline/details/device_slice.h"

#include "app/desktop/models/format.h"
#include "storage/model/argument_words.h"
#include "storage/model/frame_text.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <string>
#include <string_view>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Rows = std::vector<std::pair<QString, QString>>;

QString notRecorded() {
    return u"not recorded"_s;
}

QString keyOf(std::string_view key) {
    return QString::fromLatin1(key);
}

/// Under our keys, whichever tool wrote them.
QJsonObject argumentsOf(const SliceView& slice) {
    const QJsonObject written = QJsonDocument::fromJson(slice.arguments.toUtf8()).object();
    QJsonObject read;
    for (auto member = written.begin(); member != written.end(); ++member) {
        const std::string key = member.key().toStdString();
        const std::string_view ours = ourArgument(key);
        read.insert(ours == key ? member.key() : keyOf(ours), member.value());
    }
    return read;
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

/// How a value reads that nothing is known of.
QString valueText(const QJsonValue& value) {
    if (value.isString()) return value.toString();
    if (value.isBool()) return value.toBool() ? u"true"_s : u"false"_s;
    if (value.isNull()) return u"null"_s;
    if (value.isArray())
        return QString::fromUtf8(QJsonDocument(value.toArray()).toJson(QJsonDocument::Compact));
    if (value.isObject())
        return QString::fromUtf8(QJsonDocument(value.toObject()).toJson(QJsonDocument::Indented))
            .trimmed();
    const double number = value.toDouble();
    const bool whole = value.toInteger(0) == value.toInteger(1);
    return whole ? QString::number(value.toInteger()) : QString::number(number, 'g', 12);
}

/// One function a line, innermost first, as they are recorded; empty: they are none of Python.
QString framesText(const QJsonValue& frames) {
    QStringList lines;
    for (const auto& each : frames.toArray()) {
        const QJsonObject frame = each.toObject();
        const QString name = frame[u"name"_s].toString();
        if (name.isEmpty()) return {};
        lines << fromUtf8(frameText(frame[u"filename"_s].toString().toStdString(),
                                    frame[u"line"_s].toInteger(), name.toStdString()));
    }
    return lines.join(QChar(QChar::LineSeparator));
}

QString argumentText(const QString& key, const QJsonValue& value) {
    const QString frames = key == "frames"_L1 ? framesText(value) : QString();
    return frames.isEmpty() ? valueText(value) : frames;
}

/// Takes one value after the other out of the arguments; the rest is unknown.
class Arguments {
public:
    explicit Arguments(const SliceView& slice) : m_left(argumentsOf(slice)) {}

    QJsonValue take(std::string_view key) { return m_left.take(keyOf(key)); }
    void addNumber(std::string_view key, const QString& name, Rows& rows) {
        const QJsonValue value = take(key);
        if (value.isDouble()) rows.emplace_back(name, valueText(value));
    }
    [[nodiscard]] const QJsonObject& left() const { return m_left; }

private:
    QJsonObject m_left;
};

void addLaunchConfiguration(Arguments& all, bool isKernel, Rows& rows) {
    const QJsonArray grid = all.take(arguments::kGrid).toArray();
    const QJsonArray block = all.take(arguments::kBlock).toArray();
    const QJsonValue registers = all.take(arguments::kRegisters);
    const QJsonValue shared = all.take(arguments::kSharedBytes);
    const QJsonValue occupancy = all.take(arguments::kOccupancy);
    if (isKernel || !grid.isEmpty())
        rows.emplace_back(u"grid"_s, grid.isEmpty() ? notRecorded() : triple(grid));
    if (isKernel || !block.isEmpty())
        rows.emplace_back(u"block"_s, block.isEmpty() ? notRecorded() : triple(block));
    if (!grid.isEmpty() && !block.isEmpty())
        rows.emplace_back(u"threads"_s, formatCount(product(grid) * product(block)));
    if (registers.isDouble())
        rows.emplace_back(u"registers"_s, u"%1 per thread"_s.arg(registers.toInteger()));
    else if (isKernel)
        rows.emplace_back(u"registers"_s, notRecorded());
    if (shared.isDouble()) {
        const Bytes bytes{shared.toInteger()};
        rows.emplace_back(u"shared memory"_s,
                          bytes.count == 0 ? u"none"_s : formatBytes(bytes) + u" per block"_s);
    } else if (isKernel) {
        rows.emplace_back(u"shared memory"_s, notRecorded());
    }
    if (occupancy.isDouble())
        rows.emplace_back(u"occupancy"_s,
                          formatPercent(occupancy.toDouble() / 100) + u", estimated"_s);
    all.addNumber(arguments::kBlocksPerProcessor, u"blocks per SM"_s, rows);
    all.addNumber(arguments::kWarpsPerProcessor, u"warps per SM"_s, rows);
}

void addBytes(Arguments& all, const SliceView& slice, Rows& rows) {
    const QJsonValue size = all.take(arguments::kBytes);
    const QString from = all.take(arguments::kFrom).toString();
    const QString to = all.take(arguments::kTo).toString();
    if (!from.isEmpty()) rows.emplace_back(u"from"_s, from);
    if (!to.isEmpty()) rows.emplace_back(u"to"_s, to);
    if (!size.isDouble()) return;
    const Bytes bytes{size.toInteger()};
    rows.emplace_back(u"bytes"_s, formatBytes(bytes));
    if (slice.range.duration().ns > 0) {
        rows.emplace_back(
            u"rate"_s, formatSi(static_cast<double>(bytes.count) / slice.range.duration().seconds(),
                                u"B/s"_s));
    }
}

/// Rows of what is known; the rest stays in `all`.
Rows knownRows(LaneRole role, const SliceView& slice, Arguments& all) {
    Rows rows;
    if (const QString name = all.take(arguments::kOperator).toString(); !name.isEmpty())
        rows.emplace_back(u"operator"_s, name);
    all.take(arguments::kKernel);
    const bool isKernel =
        slice.onDevice && (role == LaneRole::kCompute || role == LaneRole::kCommunication);
    addLaunchConfiguration(all, isKernel, rows);
    addBytes(all, slice, rows);
    all.addNumber(arguments::kStream, role == LaneRole::kSync ? u"waits for stream"_s : u"stream"_s,
                  rows);
    all.addNumber(arguments::kContext, u"context"_s, rows);
    all.addNumber(arguments::kDevice, u"device"_s, rows);
    all.addNumber(arguments::kRecordedOnStream, u"recorded on stream"_s, rows);
    all.addNumber(arguments::kEvent, u"event"_s, rows);
    all.addNumber(arguments::kGraph, u"graph"_s, rows);
    all.addNumber(arguments::kGraphNode, u"graph node"_s, rows);
    all.addNumber(arguments::kExternalId, u"external id"_s, rows);
    all.addNumber(arguments::kError, u"CUDA error"_s, rows);
    return rows;
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
    Arguments all(slice);
    return knownRows(role, slice, all);
}

Rows otherArguments(const SliceView& slice) {
    Arguments all(slice);
    (void)knownRows(LaneRole::kHost, slice, all);
    Rows rows;
    for (auto member = all.left().begin(); member != all.left().end(); ++member)
        rows.emplace_back(member.key(), argumentText(member.key(), member.value()));
    // a text that is not an object
    if (rows.empty() && !slice.arguments.isEmpty() && !slice.arguments.startsWith(u'{'))
        rows.emplace_back(u"arguments"_s, slice.arguments);
    return rows;
}

QString wholeKernelName(const SliceView& slice) {
    return argumentsOf(slice)[keyOf(arguments::kKernel)].toString();
}

std::optional<CollectiveOp> collectiveOfKernel(const QString& name) {
    if (!name.startsWith("nccl"_L1)) return std::nullopt;
    for (const CollectiveWords& words : kWords<CollectiveOp>) {
        const bool shared = words.kernel == std::string_view("SendRecv");
        if (!shared && name.contains(QLatin1String(words.kernel))) return words.value;
    }
    return std::nullopt;
}

std::vector<QString> wayTexts(const RecordingSummary& summary, const SliceView& slice,
                              const std::vector<LinkedSlice>& links) {
    std::vector<QString> texts;
    for (const LinkedSlice& link : links) {
        const Duration apart = link.slice.range.begin - slice.range.begin;
        const bool later = apart.ns >= 0;
        QString what;
        switch (link.kind) {
            case LinkKind::kLaunch:
                what = link.slice.onDevice ? u"device"_s : u"host"_s;
                break;
            case LinkKind::kBackward:
                what = later ? u"backward"_s : u"forward"_s;
                break;
            case LinkKind::kPeer:
                what = u"rank %1"_s.arg(link.key.rank.value);
                break;
            case LinkKind::kArrow:
                what = laneName(summary, link.key);
                break;
        }
        texts.push_back(u"%1: %2, %3 %4"_s.arg(
            what, link.slice.name,
            formatDuration(later ? apart : slice.range.begin - link.slice.range.begin),
            later ? u"later"_s : u"earlier"_s));
    }
    return texts;
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
    if (first.kind == LinkKind::kPeer) {
        texts.rows.emplace_back(u"peers"_s, formatCount(static_cast<std::int64_t>(links.size())));
        return texts;
    }
    if (first.kind == LinkKind::kBackward) {
        const bool forward = first.slice.range.begin >= slice.range.begin;
        texts.rows.emplace_back(forward ? u"backward"_s : u"forward"_s, first.slice.name);
        texts.action = forward ? u"Go to its backward"_s : u"Go to its forward"_s;
        return texts;
    }
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
