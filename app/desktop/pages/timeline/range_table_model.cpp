#include "app/desktop/pages/timeline/range_table_model.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/device_slice.h"
#include "app/desktop/pages/timeline/range_kind.h"
#include "app/desktop/pages/timeline/slice_details.h"

#include <QObject>
#include <QStringList>

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
