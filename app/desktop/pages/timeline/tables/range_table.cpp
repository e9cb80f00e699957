#include "app/desktop/pages/timeline/tables/range_table.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "profiler/analysis/findings.h"

#include <QObject>
#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

Meaning meaningOfRow(const RangeRow& row) {
    SliceView slice;
    slice.name = row.name;
    slice.operation = fromWord<CollectiveOp>(row.name.toStdString());
    slice.phase = row.phase;
    slice.onDevice = row.onDevice;
    if (row.onDevice) slice.operation = collectiveOfKernel(row.name);
    return sliceMeaning(row.role, slice);
}

/// "2 ranks"
QString counted(int count, const QString& what) {
    return u"%1 %2%3"_s.arg(formatCount(count), what, count == 1 ? u""_s : u"s"_s);
}

}  // namespace

void RangeAggregation::beginLane(const LaneFacts& lane) {
    m_pass = {};
    m_pass.lane = lane;
    m_pass.kind = rangeKind(lane).value_or(m_kind);
}

RangeAggregation::Sum& RangeAggregation::sumOf(StringId name,
                                               const std::function<QString(StringId)>& text) {
    if (m_pass.sums.empty()) ++m_lanes;
    auto [found, isNew] = m_pass.sums.try_emplace(name, nullptr);
    if (!isNew) return *found->second;
    const LaneFacts& lane = m_pass.lane;
    Sum& sum = m_sums[text(name)];
    sum.role = lane.role;
    sum.onDevice = isStreamLane(lane.lane);
    sum.laneNames.insert(QString::fromStdString(lane.name));
    sum.lanes.insert({lane.rank, lane.lane});
    found->second = &sum;
    return sum;
}

void RangeAggregation::add(const std::vector<SpanEvent>& spans,
                           const std::function<QString(StringId)>& text) {
    for (const SpanEvent& span : spans) {
        const TimeRange part = span.range().intersection(m_range);
        if (part.duration().ns < 0 || (part.empty() && span.duration.ns > 0)) continue;
        if (rangeKind(m_pass.kind, span) != m_kind) continue;
        if (m_steps && span.step != kNoStep && !m_steps->contains(span.step)) continue;
        Sum* sum = &sumOf(span.name, text);
        if (sum->phase == Phase::kNone) sum->phase = span.phase;
        sum->self += part.duration();
        sum->durations.push_back(part.duration());
        if (part.duration() > sum->longestPart) {
            sum->longestPart = part.duration();
            sum->longest = span;
            sum->where = {m_pass.lane.rank, m_pass.lane.lane};
        }
        if (span.depth > 0 && m_pass.open[span.depth - 1U] != nullptr) {
            const TimeRange shared = m_pass.inside[span.depth - 1U].intersection(part);
            if (!shared.empty()) m_pass.open[span.depth - 1U]->self -= shared.duration();
        }
        // a name inside itself (recursion) counts once
        bool nestedInItself = false;
        for (std::size_t depth = 0; depth < span.depth; ++depth)
            nestedInItself |= m_pass.open[depth] == sum && m_pass.inside[depth].end >= part.end;
        if (!nestedInItself) sum->total += part.duration();
        m_pass.open[span.depth] = sum;
        m_pass.inside[span.depth] = part;
    }
}

RangeTable RangeAggregation::table(int ranks) const {
    RangeTable table{m_range, m_kind, ranks, m_lanes, {}};
    for (const auto& [name, sum] : m_sums) {
        if (sum.durations.empty()) continue;
        RangeRow row;
        row.name = name;
        row.lanes = static_cast<int>(sum.lanes.size());
        if (sum.laneNames.size() == 1) row.lane = *sum.laneNames.begin();
        row.role = sum.role;
        row.phase = sum.phase;
        row.onDevice = sum.onDevice;
        row.count = static_cast<std::int64_t>(sum.durations.size());
        row.total = sum.total;
        row.self = sum.self;
        row.median = analysis::medianOf(sum.durations);
        row.maximum = sum.longestPart;
        row.where = sum.where;
        row.span = sum.longest;
        table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const RangeRow& a, const RangeRow& b) { return a.self > b.self; });
    return table;
}

std::vector<TableColumn> rangeColumns() {
    const QString clipped = QObject::tr("; of an event that the range cuts, what lies inside");
    return {
        {QObject::tr("name"), {}, false, true, false, 240},
        {QObject::tr("count"), QObject::tr("events that touch the range"), true, false, false, 88},
        {QObject::tr("own time"),
         QObject::tr("without what is nested inside, all lanes together") + clipped, true, false,
         false, 96},
        {QObject::tr("of the range"),
         QObject::tr("own time divided by the length of the range on all lanes of the kind"), true,
         false, false, 104},
        {QObject::tr("total"), QObject::tr("with what is nested inside") + clipped, true, false,
         false, 96},
        {QObject::tr("median"),
         QObject::tr("of one event, the mean of the middle two of an even number") + clipped, true,
         false, false, 96},
        {QObject::tr("max"), QObject::tr("longest single event") + clipped, true, false, false, 96},
        {QObject::tr("lane"), {}, false, false, true, 168}};
}

TableRows rangeRows(const RangeTable& table) {
    TableRows rows;
    const double whole = static_cast<double>(table.range.duration().ns) * std::max(1, table.lanes);
    for (const RangeRow& row : table.rows) {
        const double share = whole > 0 ? static_cast<double>(row.self.ns) / whole : 0;
        const QString lanes =
            row.lane.isEmpty() ? counted(row.lanes, rangeKindLane(table.kind)) : row.lane;
        rows.push_back({TableCell::ofText(wholeName(row.name), meaningOfRow(row)),
                        TableCell::ofCount(row.count), TableCell::of(row.self),
                        TableCell::of(Share{share}), TableCell::of(row.total),
                        TableCell::of(row.median), TableCell::of(row.maximum),
                        TableCell::ofText(lanes)});
    }
    return rows;
}

QString whereText(const OpenRecording& recording, const Selection& selection) {
    QString where = u"in the whole run"_s;
    if (selection.range) where = u"in the selected range"_s;
    if (const auto steps = selection.steps ? recording.stepsOf(selection) : std::nullopt)
        where = steps->first == steps->last
                    ? u"in step %1"_s.arg(steps->first.value)
                    : u"in steps %1–%2"_s.arg(steps->first.value).arg(steps->last.value);
    if (selection.ranks.size() == 1) return where + u" on rank %1"_s.arg(selection.ranks[0].value);
    if (!selection.ranks.empty())
        where += u" on "_s + formatCounted(std::ssize(selection.ranks), "rank");
    return where;
}

QString rangeCaption(const OpenRecording& recording, const Selection& selection,
                     const RangeTable& table) {
    const QString where = whereText(recording, selection);
    const CaptureLevel least = rangeKindLevel(table.kind);
    if (table.rows.empty() && !wasSalvaged(recording) && isBelow(recording, least))
        return u"%1 not recorded: record with --capture %2"_s.arg(rangeKindName(table.kind),
                                                                  fromUtf8(toWord(least)));
    if (table.rows.empty())
        return u"%1: nothing %2 %3"_s.arg(rangeKindName(table.kind),
                                          wasSalvaged(recording) ? u"salvaged"_s : u"recorded"_s,
                                          where);
    const QString lanes = table.lanes == table.ranks
                              ? counted(table.ranks, u"rank"_s)
                              : counted(table.lanes, rangeKindLane(table.kind));
    return u"%1 · shares of %2 × %3"_s.arg(where, lanes, formatDuration(table.range.duration()));
}

}  // namespace shardscope::desktop
