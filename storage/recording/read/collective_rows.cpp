#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/collective_bounds.h"
#include "storage/recording/file/row_rules.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
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

/// Collectives of which the times of all members are in memory beside what is kept of them.
constexpr std::size_t kStretchRows = 8'192;

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

/// How many rows a rank has on average, as a finalised file says; 0: not known. Who lets millions
/// of rows grow as they come takes their memory three times.
std::size_t rowsOfRank(Connection& connection) {
    const auto stored = storedCollectives(connection);
    const auto ranks = connection.integer("SELECT count(*) FROM ranks");
    if (!stored || !*stored || !ranks || *ranks < 1) return 0;
    return (*stored)->count / static_cast<std::size_t>(*ranks);
}

bool isMessage(CollectiveOp operation) {
    return operation == CollectiveOp::kSend || operation == CollectiveOp::kReceive;
}
bool isBlind(const CollectiveEvent& event) {
    return event.arrivals.empty() && (event.group == 0 || !isMessage(event.operation));
}

bool areNear(const CollectiveEvent& event, const CollectiveEvent& next) {
    return event.group == next.group && next.sequence - event.sequence <= kBlockRows;
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
        const std::size_t expected = rowsOfRank(connection);
        events.reserve(expected);
        if (auto done = readAll(connection, rank, range, events); !done) return failure(done);
        if (events.size() < expected / 2) events.shrink_to_fit();
    } else {
        if (auto done = readBlocks(connection, rank, known); !done) return failure(done);
        if (auto done = readSome(connection, rank, range, known, events); !done)
            return failure(done);
    }
    if (auto filled = m_peers.fill(connection, events); !filled) return failure(filled);
    return events;
}

Result<std::vector<CollectiveEvent>> CollectiveRows::find(Connection& connection, RankId rank,
                                                          std::vector<CollectiveKey> keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    auto select = connection.prepare(kSelect + " AND group_id=? AND sequence=?");
    if (!select) return failure(select);
    std::vector<CollectiveEvent> events;
    for (const CollectiveKey& key : keys) {
        select->bind(1, std::int64_t{rank.value})
            .bind(2, std::numeric_limits<std::int64_t>::max())
            .bind(3, std::numeric_limits<std::int64_t>::min())
            .bind(4, std::int64_t{key.group})
            .bind(5, static_cast<std::int64_t>(key.sequence));
        if (auto done = take(*select, events); !done) return failure(done);
        select->reset();
    }
    // What peers tell is read from the first to the last: those that lie apart, apart.
    PeerArrivals peers;
    for (std::size_t first = 0, next = 0; first < events.size(); first = next) {
        for (next = first + 1; next < events.size() && areNear(events[next - 1], events[next]);)
            ++next;
        const std::span near = std::span(events).subspan(first, next - first);
        if (auto filled = peers.fill(connection, near); !filled) return failure(filled);
    }
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

Result<void> PeerArrivals::fill(Connection& connection, std::span<CollectiveEvent> events) {
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
        event.arrivals = group.of(event.sequence);
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

Result<void> PeerArrivals::read(Connection& connection, std::uint32_t number, Group& group,
                                Sequences wanted) {
    auto select = connection.prepare(
        "SELECT sequence, start_ns FROM collectives WHERE rank=? AND group_id=?"
        " AND sequence BETWEEN ? AND ? ORDER BY sequence LIMIT ?");
    if (!select) return failure(select);
    while (true) {
        Times times;
        for (std::size_t place = 0; place < group.members.size(); ++place) {
            if (auto done = readMember(*select, number, group, place, wanted, times); !done)
                return done;
        }
        if (times.sequences.empty()) return {};
        const std::uint64_t last = times.sequences.back();
        const bool isWhole = times.sequences.size() < kStretchRows || last >= wanted.last;
        group.add(std::move(times));
        if (isWhole) return {};
        wanted.first = last + 1;
    }
}

/// Of the first member so many; of the others what it has.
Result<void> PeerArrivals::readMember(Statement& select, std::uint32_t number, const Group& group,
                                      std::size_t place, Sequences wanted, Times& times) {
    if (place > 0) {
        if (times.sequences.empty()) return {};
        wanted = {times.sequences.front(), times.sequences.back()};
    }
    select.bind(1, group.members[place])
        .bind(2, std::int64_t{number})
        .bind(3, static_cast<std::int64_t>(wanted.first))
        .bind(4, static_cast<std::int64_t>(wanted.last))
        .bind(5, place == 0 ? std::int64_t{kStretchRows} : std::int64_t{-1});
    const std::size_t members = group.members.size();
    for (std::size_t at = 0;;) {
        auto row = select.step();
        if (!row) return failure(row);
        if (!*row) break;
        const auto sequence = static_cast<std::uint64_t>(select.integer(0));
        if (place == 0) {
            times.sequences.push_back(sequence);
            times.seen.push_back(0);
            times.all.resize(times.all.size() + members);
        }
        while (at < times.sequences.size() && times.sequences[at] < sequence) ++at;
        if (at == times.sequences.size()) break;
        if (times.sequences[at] != sequence || times.seen[at] != place) continue;
        times.all[at * members + place] = {select.integer(1)};
        ++times.seen[at];
    }
    select.reset();
    return {};
}

/// Of a collective that not all members have, the last is unknown: e.g. a rank died.
void PeerArrivals::Group::add(Times times) {
    const std::size_t size = members.size();
    const auto whole =
        static_cast<std::size_t>(std::count(times.seen.begin(), times.seen.end(), size));
    if (whole == 0) return;
    auto lists = std::make_unique<Timestamp[]>(whole * size);
    Stretch stretch;
    stretch.sequences.reserve(whole);
    for (std::size_t at = 0; at < times.seen.size(); ++at) {
        if (times.seen[at] != size) continue;
        std::copy_n(&times.all[at * size], size, &lists[stretch.sequences.size() * size]);
        stretch.sequences.push_back(times.sequences[at]);
    }
    stretch.times = std::move(lists);
    known.insert_or_assign(times.sequences.front(), std::move(stretch));
}

Arrivals PeerArrivals::Group::of(std::uint64_t sequence) const {
    const auto after = known.upper_bound(sequence);
    if (after == known.begin()) return {};
    const auto& [sequences, times] = std::prev(after)->second;
    const auto found = std::lower_bound(sequences.begin(), sequences.end(), sequence);
    if (found == sequences.end() || *found != sequence) return {};
    const auto place = static_cast<std::size_t>(found - sequences.begin());
    return {times, place * members.size(), members.size()};
}

}  // namespace shardscope::storage
