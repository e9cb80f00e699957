#include "app/desktop/pages/timeline/range_table_model.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/device_slice.h"
#include "app/desktop/pages/timeline/range_kind.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "profiler/analysis/collective_figures.h"

#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

analysis::CommunicationSum communicationIn(const OpenRecording& recording, TimeRange range,
                                           const Selection& selection) {
    std::vector<const RankEvents*> ranks;
    for (const RankEvents& events : recording.ranks)
        if (selection.includes(events.rank)) ranks.push_back(&events);
    return analysis::communicationIn(ranks, range);
}

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

QString headlineOf(const OpenRecording& recording, const Selection& selection,
                   const analysis::CommunicationSum& sum) {
    const auto steps = recording.stepsOf(selection);
    const TimeRange range = recording.timeOf(selection);
    const QString where = !steps ? u"Selected range"_s
                          : steps->first == steps->last
                              ? u"Step %1"_s.arg(steps->first.value)
                              : u"Steps %1–%2"_s.arg(steps->first.value).arg(steps->last.value);
    if (sum.collectives == 0)
        return u"%1: no collective in %2."_s.arg(where, formatDuration(range.duration()));
    const Duration all = sum.moving + sum.waiting;
    if (!recording.report.waitingKnown)
        return u"%1: %2 collectives take %3."_s.arg(where, formatCount(sum.collectives),
                                                    formatDuration(all));
    return u"%1: %2 collectives take %3, of which %4 (%5) is waiting for a peer."_s.arg(
        where, formatCount(sum.collectives), formatDuration(all), formatDuration(sum.waiting),
        formatPercent(all.ns > 0 ? static_cast<double>(sum.waiting.ns) / static_cast<double>(all.ns)
                                 : 0));
}

QString sublineOf(const OpenRecording& recording, const analysis::CommunicationSum& sum) {
    if (!recording.report.waitingKnown)
        return u"The other ranks are not recorded: what of it is waiting cannot be told."_s;
    if (sum.longestWait.ns == 0) return u"Nobody waits for a peer in this range."_s;
    return u"Longest single wait: %1, on rank %2."_s.arg(formatDuration(sum.longestWait))
        .arg(sum.waitingRank.value);
}

}  // namespace

std::vector<TableColumn> rangeColumns() {
    const QString clipped = u"; of an event that the range cuts, what lies inside"_s;
    return {{u"name"_s, {}, false, true, false, 160},
            {u"count"_s, u"events that touch the range"_s, true, false, false, 88},
            {u"own time"_s, u"without what is nested inside, all lanes together"_s + clipped, true,
             false, false, 96},
            {u"share"_s, u"own time divided by the length of the range on all lanes of the kind"_s,
             true, false, false, 80},
            {u"total"_s, u"with what is nested inside"_s + clipped, true, false, false, 96},
            {u"median"_s, u"of one event, the mean of the middle two of an even number"_s + clipped,
             true, false, false, 96},
            {u"max"_s, u"longest single event"_s + clipped, true, false, false, 96},
            {u"lane"_s, {}, false, false, true, 168}};
}

TableRows rangeRows(const RangeTable& table) {
    TableRows rows;
    const double whole = static_cast<double>(table.range.duration().ns) * std::max(1, table.lanes);
    for (const RangeRow& row : table.rows) {
        const double share = whole > 0 ? static_cast<double>(row.self.ns) / whole : 0;
        const QString lanes =
            row.lane.isEmpty() ? counted(row.lanes, rangeKindLane(table.kind)) : row.lane;
        rows.push_back(
            {TableCell::ofText(row.name, meaningOfRow(row)), TableCell::ofCount(row.count),
             TableCell::of(row.self), TableCell::of(Share{share}), TableCell::of(row.total),
             TableCell::of(row.median), TableCell::of(row.maximum), TableCell::ofText(lanes)});
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
    if (!selection.ranks.empty()) where += u" on %1 ranks"_s.arg(selection.ranks.size());
    return where;
}

QString rangeCaption(const OpenRecording& recording, const Selection& selection,
                     const RangeTable& table) {
    const QString where = whereText(recording, selection);
    if (table.rows.empty()) return u"%1: none %2"_s.arg(rangeKindName(table.kind), where);
    const QString lanes = table.lanes == table.ranks
                              ? counted(table.ranks, u"rank"_s)
                              : counted(table.lanes, rangeKindLane(table.kind));
    return u"%1 · shares of %2 × %3"_s.arg(where, lanes, formatDuration(table.range.duration()));
}

RangeTexts rangeTexts(const OpenRecording& recording, const Selection& selection) {
    const analysis::CommunicationSum sum =
        communicationIn(recording, recording.timeOf(selection), selection);
    return {headlineOf(recording, selection, sum), sublineOf(recording, sum)};
}

}  // namespace shardscope::desktop
