#include "app/desktop/pages/timeline/found_table.h"

#include "app/desktop/models/format.h"

#include <QObject>
#include <map>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

std::vector<TableColumn> foundColumns() {
    return {
        {QObject::tr("name"), {}, false, true, false, 200},
        {QObject::tr("rank"), {}, true, false, false, 64},
        {QObject::tr("lane"), {}, false, false, false, 200},
        {QObject::tr("start"), QObject::tr("on the recording's clock"), true, false, false, 120},
        {QObject::tr("duration"), {}, true, false, false, 96},
        {QObject::tr("found in"), QObject::tr("the name, or only the arguments"), false, false,
         true, 96}};
}

TableRows foundRows(const RecordingSummary& summary, const SearchResult& result) {
    std::map<LaneAddress, QString> lanes;
    for (const LaneFacts& lane : summary.lanes)
        lanes.emplace(LaneAddress{lane.rank, lane.lane}, fromUtf8(lane.name));
    TableRows rows;
    rows.reserve(result.hits.size());
    for (const SearchHit& hit : result.hits) {
        const Timestamp start = hit.span.start;
        rows.push_back({TableCell::ofText(hit.name),
                        TableCell::ofCount(hit.key.rank.value),
                        TableCell::ofText(lanes[hit.key]),
                        {formatInstant(start, {1000}),
                         {},
                         static_cast<double>(start.ns),
                         Meaning::kNone,
                         start},
                        TableCell::of(hit.span.duration),
                        TableCell::ofText(hit.byArguments ? u"arguments"_s : u"name"_s)});
    }
    return rows;
}

QString foundCaption(const SearchResult& result) {
    const QString count = formatCount(static_cast<std::int64_t>(result.count));
    if (result.isCut())
        return u"%1 matches, the first %2 here: search for more, or fewer ranks"_s.arg(
            count, formatCount(static_cast<std::int64_t>(result.hits.size())));
    return result.count == 1 ? u"1 match"_s : u"%1 matches"_s.arg(count);
}

}  // namespace shardscope::desktop
