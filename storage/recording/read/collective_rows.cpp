#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/row_rules.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

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

constexpr std::size_t kBlockRows = 128;

const std::string kSelect =
    "SELECT group_id, sequence, operation, dtype, cause, layer, step, size_bytes, algorithm_id,"
    " protocol_id, issue_ns, start_ns, end_ns, arrivals FROM collectives"
    " WHERE rank=? AND start_ns<? AND end_ns>=?";

Result<void> take(Statement& select, std::vector<CollectiveEvent>& events) {
    while (true) {
        auto row = select.step();
        if (!row) return failure(row);
        if (!*row) return {};
        events.push_back(collectiveOf(select));
    }
}

Result<void> readAll(Connection& connection, RankId rank, TimeRange range,
                     std::vector<CollectiveEvent>& events) {
    auto select = connection.prepare(kSelect + " ORDER BY group_id, sequence");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value}).bind(2, range.end.ns).bind(3, range.begin.ns);
    return take(*select, events);
}

using Members = std::vector<std::int64_t>;

bool isMessage(CollectiveOp operation) {
    return operation == CollectiveOp::kSend || operation == CollectiveOp::kReceive;
}
bool isBlind(const CollectiveEvent& event) {
    return event.arrivals.empty() && (event.group == 0 || !isMessage(event.operation));
}

Result<Members> world(Connection& connection) {
    auto select = connection.prepare("SELECT world_size FROM run");
    if (!select) return failure(select);
    auto row = select->step();
    if (!row) return failure(row);
    Members ranks;
    for (std::int64_t rank = 0; *row && rank < select->integer(0); ++rank) ranks.push_back(rank);
    return ranks;
}

/// The ranks that have rows of a group: others took no part in it.
Result<Members> membersOf(Connection& connection, std::uint32_t group) {
    auto select = connection.prepare(
        "SELECT rank FROM ranks WHERE EXISTS (SELECT 1 FROM collectives"
        " WHERE collectives.rank=ranks.rank AND group_id=?) ORDER BY rank");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{group});
    Members members;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        members.push_back(select->integer(0));
    }
    return members;
}

}  // namespace

Result<std::vector<CollectiveEvent>> CollectiveRows::read(Connection& connection, RankId rank,
                                                          TimeRange range) {
    std::vector<CollectiveEvent> events;
    Rank& known = m_ranks[rank];
    // who reads a rank once goes through its rows once
    if (!std::exchange(known.wasRead, true)) {
        if (auto done = readAll(connection, rank, range, events); !done) return failure(done);
    } else {
        if (auto done = readBlocks(connection, rank, known); !done) return failure(done);
        if (auto done = readSome(connection, rank, range, known, events); !done)
            return failure(done);
    }
    if (auto filled = m_peers.fill(connection, events); !filled) return failure(filled);
    return events;
}

void CollectiveRows::forget() {
    m_ranks.clear();
    m_peers.forget();
}

Result<void> CollectiveRows::readBlocks(Connection& connection, RankId rank, Rank& known) {
    if (known.hasBlocks) return {};
    auto select = connection.prepare(
        "SELECT group_id, sequence, start_ns, end_ns FROM collectives WHERE rank=?"
        " ORDER BY group_id, sequence");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value});
    std::vector<Block> blocks;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const std::int64_t group = select->integer(0), sequence = select->integer(1);
        const Timestamp start{select->integer(2)}, end{select->integer(3)};
        if (blocks.empty() || blocks.back().group != group || blocks.back().rows == kBlockRows)
            blocks.push_back({group, sequence, sequence, start, end});
        Block& block = blocks.back();
        block.last = sequence;
        block.begin = std::min(block.begin, start);
        block.end = std::max(block.end, end);
        ++block.rows;
    }
    known.blocks = std::move(blocks);
    known.hasBlocks = true;
    return {};
}

Result<void> CollectiveRows::readSome(Connection& connection, RankId rank, TimeRange range,
                                      const Rank& known, std::vector<CollectiveEvent>& events) {
    auto select = connection.prepare(
        kSelect + " AND group_id=? AND sequence BETWEEN ? AND ? ORDER BY sequence");
    if (!select) return failure(select);
    const auto isHit = [range](const Block& block) {
        return block.begin < range.end && block.end >= range.begin;
    };
    for (auto at = known.blocks.begin(); at != known.blocks.end();) {
        const auto first = std::find_if(at, known.blocks.end(), isHit);
        if (first == known.blocks.end()) break;
        at = std::find_if(first, known.blocks.end(), [&](const Block& block) {
            return block.group != first->group || !isHit(block);
        });
        select->bind(1, std::int64_t{rank.value}).bind(2, range.end.ns).bind(3, range.begin.ns);
        select->bind(4, first->group).bind(5, first->first).bind(6, std::prev(at)->last);
        if (auto done = take(*select, events); !done) return done;
    }
    return {};
}

Result<void> PeerArrivals::fill(Connection& connection, std::vector<CollectiveEvent>& events) {
    std::map<std::uint32_t, Sequences> blind;
    for (const CollectiveEvent& event : events) {
        if (!isBlind(event)) continue;
        Sequences& of =
            blind.try_emplace(event.group, Sequences{event.sequence, event.sequence}).first->second;
        of = {std::min(of.first, event.sequence), std::max(of.last, event.sequence)};
    }
    std::map<std::uint32_t, const Group*> groups;
    for (const auto& [number, wanted] : blind) {
        const auto group = groupOf(connection, number, wanted);
        if (!group) return failure(group);
        groups[number] = *group;
    }
    for (CollectiveEvent& event : events) {
        if (!isBlind(event)) continue;
        const Group& group = *groups[event.group];
        const auto found = group.known.find(event.sequence);
        if (found != group.known.end()) event.arrivals = found->second;
    }
    return {};
}

Result<PeerArrivals::Group*> PeerArrivals::groupOf(Connection& connection, std::uint32_t number,
                                                   Sequences wanted) {
    const auto [found, fresh] = m_groups.try_emplace(number);
    Group& group = found->second;
    if (fresh) {
        auto members = number == 0 ? world(connection) : membersOf(connection, number);
        if (!members) {
            m_groups.erase(found);
            return failure(members);
        }
        group.members = std::move(*members);
        group.read = {wanted.last + 1, wanted.last};  // nothing, beside what comes
    }
    if (group.members.size() > 1)
        if (auto done = extend(connection, number, group, wanted); !done) return failure(done);
    return &group;
}

/// Reads what is not known yet. What lies far from what is known takes its place.
Result<void> PeerArrivals::extend(Connection& connection, std::uint32_t number, Group& group,
                                  Sequences wanted) {
    Sequences& known = group.read;
    const bool apart = wanted.first > known.last + 1 || wanted.last + 1 < known.first;
    if (apart) {
        group.known.clear();
        known = {wanted.last + 1, wanted.last};
    }
    if (wanted.first < known.first) {
        const Sequences before{wanted.first, known.first - 1};
        if (auto done = read(connection, number, group, before); !done) return done;
        known.first = wanted.first;
    }
    if (wanted.last > known.last) {
        const Sequences after{known.last + 1, wanted.last};
        if (auto done = read(connection, number, group, after); !done) return done;
        known.last = wanted.last;
    }
    return {};
}

/// Of a collective that not all members have, the last is unknown: e.g. a rank died.
Result<void> PeerArrivals::read(Connection& connection, std::uint32_t number, Group& group,
                                Sequences wanted) {
    auto select = connection.prepare(
        "SELECT sequence, start_ns FROM collectives WHERE rank=? AND group_id=?"
        " AND sequence BETWEEN ? AND ?");
    if (!select) return failure(select);
    std::unordered_map<std::uint64_t, std::vector<Timestamp>> times;
    for (std::size_t place = 0; place < group.members.size(); ++place) {
        select->bind(1, group.members[place])
            .bind(2, std::int64_t{number})
            .bind(3, static_cast<std::int64_t>(wanted.first))
            .bind(4, static_cast<std::int64_t>(wanted.last));
        while (true) {
            auto row = select->step();
            if (!row) return failure(row);
            if (!*row) break;
            const auto sequence = static_cast<std::uint64_t>(select->integer(0));
            if (place == 0) times[sequence].reserve(group.members.size());
            const auto found = times.find(sequence);
            if (found != times.end() && found->second.size() == place)
                found->second.push_back({select->integer(1)});
        }
        select->reset();
    }
    for (const auto& [sequence, all] : times)
        if (all.size() == group.members.size()) group.known.emplace(sequence, all);
    return {};
}

}  // namespace shardscope::storage
