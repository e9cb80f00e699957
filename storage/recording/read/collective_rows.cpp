#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/words.h"

#include <cstring>
#include <map>

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
    event.arrivals.resize(arrivals.size() / 8);
    for (std::size_t i = 0; i < event.arrivals.size(); ++i)
        std::memcpy(&event.arrivals[i].ns, arrivals.data() + i * 8, 8);
    return event;
}

/// Over NCCL a rank does not see its peers arrive: their own rows of the same collective say when
/// they did. Filled in where every rank of the world has one.
Result<void> fillArrivals(Connection& connection, std::vector<CollectiveEvent>& events) {
    std::map<std::uint64_t, CollectiveEvent*> blind;
    for (CollectiveEvent& event : events)
        if (event.group == 0 && event.arrivals.empty()) blind[event.sequence] = &event;
    if (blind.empty()) return {};
    auto select = connection.prepare(
        "SELECT sequence, start_ns FROM collectives WHERE rank=? AND group_id=0"
        " AND sequence BETWEEN ? AND ?");
    auto worlds = connection.prepare("SELECT world_size FROM run");
    if (!select || !worlds) return failure(select ? worlds : select);
    if (auto row = worlds->step(); !row || !*row) return row ? Result<void>{} : failure(row);
    const auto world = static_cast<std::size_t>(worlds->integer(0));
    for (std::size_t peer = 0; peer < world && world > 1; ++peer) {
        select->bind(1, static_cast<std::int64_t>(peer))
            .bind(2, static_cast<std::int64_t>(blind.begin()->first))
            .bind(3, static_cast<std::int64_t>(blind.rbegin()->first));
        while (true) {
            auto row = select->step();
            if (!row) return failure(row);
            if (!*row) break;
            const auto found = blind.find(static_cast<std::uint64_t>(select->integer(0)));
            if (found == blind.end() || found->second->arrivals.size() != peer) continue;
            found->second->arrivals.push_back({select->integer(1)});
        }
        select->reset();
    }
    // A rank without the row, e.g. one that died: nobody knows who was last.
    for (const auto& [sequence, event] : blind)
        if (event->arrivals.size() != world) event->arrivals.clear();
    return {};
}

}  // namespace

Result<std::vector<CollectiveEvent>> readCollectives(Connection& connection, RankId rank,
                                                     TimeRange range) {
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
    if (auto filled = fillArrivals(connection, events); !filled) return failure(filled);
    return events;
}

}  // namespace shardscope::storage
