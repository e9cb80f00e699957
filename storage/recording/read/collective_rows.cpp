#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/words.h"

#include <cstring>

namespace shardscope::storage {
namespace {

CollectiveEvent collectiveOf(const Statement& row) {
    CollectiveEvent event;
    event.group = static_cast<std::uint32_t>(row.integer(0));
    event.sequence = static_cast<std::uint64_t>(row.integer(1));
    event.operation = fromWord<CollectiveOp>(row.text(2)).value_or(CollectiveOp::kBarrier);
    event.dtype = fromWord<DataType>(row.text(3)).value_or(DataType::kUnknown);
    event.cause = fromWord<Cause>(row.text(4)).value_or(Cause::kNone);
    event.layer = {static_cast<std::int16_t>(row.integer(5))};
    event.step = {static_cast<std::int32_t>(row.integer(6))};
    event.size = {row.integer(7)};
    event.algorithm = {static_cast<std::uint32_t>(row.integer(8))};
    event.protocol = {static_cast<std::uint32_t>(row.integer(9))};
    event.issue = {row.integer(10)};
    event.start = {row.integer(11)};
    event.end = {row.integer(12)};
    const auto arrivals = row.blob(13);
    event.arrivals = {arrivals.size() / 8, [&](std::size_t place) {
                          Timestamp time;
                          std::memcpy(&time.ns, arrivals.data() + place * 8, 8);
                          return time;
                      }};
    return event;
}

}  // namespace

Result<std::vector<CollectiveEvent>> readCollectives(Connection& connection, RankId rank,
                                                     TimeRange range, PeerArrivals& peers) {
    auto select = connection.prepare(
        "SELECT group_id, sequence, operation, dtype, cause, layer, step, size_bytes, algorithm_id,"
        " protocol_id, issue_ns, start_ns, end_ns, arrivals FROM collectives"
        " WHERE rank=? AND start_ns<? AND end_ns>=? ORDER BY group_id, sequence");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value}).bind(2, range.end.ns).bind(3, range.begin.ns);
    std::vector<CollectiveEvent> events;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        events.push_back(collectiveOf(*select));
    }
    if (auto filled = peers.fill(connection, events); !filled) return failure(filled);
    return events;
}

}  // namespace shardscope::storage
