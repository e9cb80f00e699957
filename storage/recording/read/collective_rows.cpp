#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/words.h"

#include <cstring>
#include <map>
#include <set>

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

bool isMessage(CollectiveOp operation) {
    return operation == CollectiveOp::kSend || operation == CollectiveOp::kReceive;
}

using Blind = std::map<std::uint64_t, CollectiveEvent*>;

Result<std::vector<std::int64_t>> world(Connection& connection) {
    auto select = connection.prepare("SELECT world_size FROM run");
    if (!select) return failure(select);
    auto row = select->step();
    if (!row) return failure(row);
    std::vector<std::int64_t> ranks;
    for (std::int64_t rank = 0; *row && rank < select->integer(0); ++rank) ranks.push_back(rank);
    return ranks;
}

/// The ranks that have rows of a group: others took no part in it. None where all are on one host.
Result<std::vector<std::int64_t>> membersOverHosts(Connection& connection, std::uint32_t group) {
    auto select = connection.prepare(
        "SELECT rank, host FROM ranks WHERE EXISTS (SELECT 1 FROM collectives"
        " WHERE collectives.rank=ranks.rank AND group_id=?) ORDER BY rank");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{group});
    std::vector<std::int64_t> members;
    std::set<std::int64_t> hosts;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        members.push_back(select->integer(0));
        hosts.insert(select->integer(1));
    }
    if (hosts.size() < 2) members.clear();
    return members;
}

/// Over NCCL, and across hosts, a rank does not see its peers arrive: their own rows of the same
/// collective say when they did. Filled in where every rank of the group has one.
Result<void> fillArrivals(Connection& connection, std::uint32_t group, const Blind& blind) {
    const auto members = group == 0 ? world(connection) : membersOverHosts(connection, group);
    auto select = connection.prepare(
        "SELECT sequence, start_ns FROM collectives WHERE rank=? AND group_id=?"
        " AND sequence BETWEEN ? AND ?");
    if (!members || !select) return members ? failure(select) : failure(members);
    if (members->size() < 2) return {};
    for (std::size_t place = 0; place < members->size(); ++place) {
        select->bind(1, (*members)[place])
            .bind(2, std::int64_t{group})
            .bind(3, static_cast<std::int64_t>(blind.begin()->first))
            .bind(4, static_cast<std::int64_t>(blind.rbegin()->first));
        while (true) {
            auto row = select->step();
            if (!row) return failure(row);
            if (!*row) break;
            const auto found = blind.find(static_cast<std::uint64_t>(select->integer(0)));
            if (found == blind.end() || found->second->arrivals.size() != place) continue;
            found->second->arrivals.push_back({select->integer(1)});
        }
        select->reset();
    }
    // A rank without the row, e.g. one that died: nobody knows who was last.
    for (const auto& [sequence, event] : blind)
        if (event->arrivals.size() != members->size()) event->arrivals.clear();
    return {};
}

Result<void> fillArrivals(Connection& connection, std::vector<CollectiveEvent>& events) {
    std::map<std::uint32_t, Blind> blind;
    for (CollectiveEvent& event : events)
        if (event.arrivals.empty() && (event.group == 0 || !isMessage(event.operation)))
            blind[event.group][event.sequence] = &event;
    for (const auto& [group, ofGroup] : blind)
        if (auto filled = fillArrivals(connection, group, ofGroup); !filled) return filled;
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
