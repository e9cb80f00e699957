#include "storage/recording/read/collective_rows.h"

#include "storage/recording/file/words.h"

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

}  // namespace shardscope::storage
