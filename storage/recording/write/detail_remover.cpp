#include "storage/recording/write/detail_remover.h"

#include "storage/columns/stored_kinds.h"
#include "storage/recording/write/memory_balance.h"

#include <algorithm>
#include <string>

namespace shardscope::storage {
Result<std::vector<StoredChunk>> listStoredChunks(Connection& connection) {
    auto select = connection.prepare(
        "SELECT c.id, c.kind, c.rank, c.lane, c.first_ns, c.last_ns, c.count, c.bytes, l.role"
        " FROM chunks c INDEXED BY chunks_directory"
        " LEFT JOIN lanes l ON l.rank=c.rank AND l.lane=c.lane WHERE c.kind IN " +
        columns::storedKindsInSql());
    if (!select) return failure(select);
    std::vector<StoredChunk> chunks;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const auto kind = static_cast<EventKind>(select->integer(1));
        chunks.push_back(
            {select->integer(0),
             kind,
             {static_cast<std::uint32_t>(select->integer(2))},
             {static_cast<std::uint32_t>(select->integer(3))},
             {select->integer(4)},
             {select->integer(5)},
             select->integer(6),
             select->integer(7),
             kind == EventKind::kMemory || isFullOnly(static_cast<LaneRole>(select->integer(8)))});
    }
    std::sort(chunks.begin(), chunks.end(),
              [](const StoredChunk& a, const StoredChunk& b) { return a.id < b.id; });
    return chunks;
}

Result<std::vector<std::byte>> DetailRemover::data(std::int64_t chunk) {
    auto select = m_connection->prepare("SELECT data FROM chunks WHERE id=?");
    if (!select) return failure(select);
    auto row = select->bind(1, chunk).step();
    if (!row) return failure(row);
    if (!*row) return failure(ErrorCode::kFailure, "a chunk to be thinned is not there any more");
    const auto blob = select->blob(0);
    return std::vector<std::byte>(blob.begin(), blob.end());
}

Result<void> DetailRemover::erase(std::int64_t chunk) {
    for (const char* sql :
         {"DELETE FROM chunks WHERE id=?", "DELETE FROM memory_state WHERE chunk=?"}) {
        auto remove = m_connection->prepare(sql);
        if (!remove) return failure(remove);
        if (auto done = remove->bind(1, chunk).run(); !done) return done;
    }
    return {};
}

Result<void> DetailRemover::replace(std::int64_t chunk, const columns::ChunkBytes& bytes) {
    auto header = columns::decodeHeader(bytes);
    auto update = m_connection->prepare(
        "UPDATE chunks SET first_ns=?, last_ns=?, count=?, bytes=?, data=? WHERE id=?");
    if (!header || !update) return header ? failure(update) : failure(header);
    return update->bind(1, header->first.ns)
        .bind(2, header->last.ns)
        .bind(3, std::int64_t{header->count})
        .bind(4, static_cast<std::int64_t>(bytes.size()))
        .bind(5, std::span<const std::byte>(bytes))
        .bind(6, chunk)
        .run();
}

template <class Event>
Result<std::uint64_t> DetailRemover::trim(const StoredChunk& chunk, Timestamp until) {
    using Stored = columns::StoredKind<Event>;
    auto bytes = data(chunk.id);
    if (!bytes) return failure(bytes);
    Result<std::vector<Event>> events = Stored::decode(*bytes);
    if (!events) return failure(events);
    const std::size_t removed =
        std::erase_if(*events, [&](const Event& event) { return Stored::timeOf(event) < until; });
    if (removed == 0) return 0;
    const auto done =
        events->empty() ? erase(chunk.id) : replace(chunk.id, Stored::encode(chunk.rank, *events));
    if (!done) return failure(done);
    return removed;
}

/// Of what lies on lanes.
Result<std::uint64_t> DetailRemover::takeOut(const StoredChunk& chunk, Timestamp until) {
    if (chunk.first >= until) return 0;
    if (chunk.last < until) {
        if (auto done = erase(chunk.id); !done) return failure(done);
        return static_cast<std::uint64_t>(chunk.count);
    }
    Result<std::uint64_t> removed = 0;
    columns::withStoredKind(chunk.kind, [&]<class Event>(columns::StoredKind<Event>) {
        removed = trim<Event>(chunk, until);
    });
    return removed;
}

Result<void> DetailRemover::storeMemory(std::int64_t id, RankId rank,
                                        const std::vector<MemoryEvent>& events,
                                        const MemoryTally::ByCategory& before) {
    if (auto done = replace(id, columns::encodeMemory(rank, events)); !done) return done;
    MemoryTally tally = MemoryTally::startingAt(before);
    tally.restartPeak(events.front().time);
    for (const MemoryEvent& event : events) tally.apply(event);
    auto put = m_connection->prepare("INSERT OR REPLACE INTO memory_state VALUES(?,?,?,?,?)");
    if (!put) return failure(put);
    const auto beforeBlob = MemoryTally::toBlob(before);
    const auto peakBlob = MemoryTally::toBlob(tally.atPeak());
    return put->bind(1, id)
        .bind(2, std::span<const std::byte>(beforeBlob))
        .bind(3, tally.peakTime().ns)
        .bind(4, tally.peak().count)
        .bind(5, std::span<const std::byte>(peakBlob))
        .run();
}

/// `chunks`: those that begin before `until` and what came before them, in order.
Result<DetailRemover::Removed> DetailRemover::takeOutMemory(
    RankId rank, const std::vector<const StoredChunk*>& chunks, Timestamp until) {
    Removed removed;
    if (chunks.empty()) return removed;
    const auto counted = calibrated(rank);
    if (!counted) return failure(counted);
    MemoryBalance balance;
    MemoryTally tally;
    std::vector<MemoryEvent> kept;
    for (const StoredChunk* chunk : chunks) {
        auto bytes = data(chunk->id);
        if (!bytes) return failure(bytes);
        auto events = columns::decodeMemory(*bytes);
        if (!events) return failure(events);
        removed.events += events->size();
        for (const MemoryEvent& event : *events) {
            if (event.time >= until) {
                kept.push_back(event);
                continue;
            }
            balance.apply(event);
            tally.apply(event);
            const bool higher = !removed.peak || tally.total() > removed.peak->size;
            if (event.time >= *counted && higher)
                removed.peak = MemoryPeak{event.time, tally.total(), tally.bytes()};
        }
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time; });
    std::vector<MemoryEvent> alive = balance.at(until);
    const bool together = alive.size() + kept.size() <= columns::kMaxChunkEvents;
    const bool apart = chunks.size() > 1 && alive.size() <= columns::kMaxChunkEvents &&
                       kept.size() <= columns::kMaxChunkEvents;
    if (!together && !apart) return Removed{};  // next time, when there are more chunks
    if (auto done = trimPyramids(rank, until, Lanes::kMemory); !done) return failure(done);
    if (!alive.empty()) {
        if (auto fed = m_chunks->addMemorySamples(rank, {}, alive); !fed) return failure(fed);
        // Stores them, as the chunk that they are in is one of those that segments reach through.
        if (auto done = trimPyramids(rank, until, Lanes::kMemory); !done) return failure(done);
    }
    removed.events -= alive.size() + kept.size();
    const std::int64_t front = chunks.front()->id, back = chunks.back()->id;
    Result<void> done;
    // In the last one's place: segments may not reach through it yet.
    if (together) {
        alive.insert(alive.end(), kept.begin(), kept.end());
        if (!alive.empty()) done = storeMemory(back, rank, alive, {});
    } else {
        done = storeMemory(front, rank, alive, {});
        if (done) done = storeMemory(back, rank, kept, tally.bytes());
    }
    for (const StoredChunk* chunk : chunks) {
        const bool used = together ? chunk->id == back && !alive.empty()
                                   : chunk->id == front || chunk->id == back;
        if (done && !used) done = erase(chunk->id);
    }
    if (!done) return failure(done);
    return removed;
}

/// Measuring the peak takes memory of its own, which is none of training's.
Result<Timestamp> DetailRemover::calibrated(RankId rank) {
    if (const auto known = m_calibrated.find(rank); known != m_calibrated.end())
        return known->second;
    auto select = m_connection->prepare(
        "SELECT c.data FROM chunks c JOIN lanes l ON l.rank=c.rank AND l.lane=c.lane"
        " WHERE c.kind=1 AND c.rank=?1 AND l.role=?2 AND c.first_ns <"
        " (SELECT start_ns FROM steps WHERE rank=?1 ORDER BY step LIMIT 1)");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value})
        .bind(2, static_cast<std::int64_t>(LaneRole::kCompute));
    Timestamp until = kBeginningOfTime;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        auto spans = columns::decodeSpans(select->blob(0));
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans)
            if (span.phase == Phase::kCalibration) until = std::max(until, span.end());
    }
    return m_calibrated[rank] = until;
}

/// Those of a group are numbered in the order in which they were asked for.
Result<std::uint64_t> DetailRemover::takeOutCollectives(RankId rank, Timestamp until) {
    const auto value = [&](const char* sql, std::int64_t group,
                           std::int64_t sequence) -> Result<std::optional<std::int64_t>> {
        auto select = m_connection->prepare(sql);
        if (!select) return failure(select);
        auto row =
            select->bind(1, std::int64_t{rank.value}).bind(2, group).bind(3, sequence).step();
        if (!row) return failure(row);
        if (!*row || select->isNull(0)) return std::optional<std::int64_t>{};
        return std::optional(select->integer(0));
    };
    std::uint64_t removed = 0;
    for (std::int64_t group = -1;;) {
        auto next = value(
            "SELECT min(group_id) FROM collectives WHERE rank=?1 AND group_id>?2"
            " AND ?3 = 0",
            group, 0);
        if (!next) return failure(next);
        if (!*next) return removed;
        group = **next;
        // The first one that stays.
        auto low = value("SELECT min(sequence) + ?3 FROM collectives WHERE rank=?1 AND group_id=?2",
                         group, 0);
        auto high = value(
            "SELECT max(sequence) + ?3 FROM collectives WHERE rank=?1 AND group_id=?2", group, 1);
        if (!low || !high) return low ? failure(high) : failure(low);
        std::int64_t from = **low, to = **high;
        while (from < to) {
            const std::int64_t middle = from + (to - from) / 2;
            auto issued = value(
                "SELECT issue_ns FROM collectives WHERE rank=?1 AND group_id=?2"
                " AND sequence>=?3 ORDER BY sequence LIMIT 1",
                group, middle);
            if (!issued) return failure(issued);
            if (*issued && **issued < until.ns)
                from = middle + 1;
            else
                to = middle;
        }
        auto count = value(
            "SELECT count(*) FROM collectives WHERE rank=?1 AND group_id=?2"
            " AND sequence<?3",
            group, from);
        if (!count) return failure(count);
        removed += static_cast<std::uint64_t>(**count);
        auto erase = m_connection->prepare(
            "DELETE FROM collectives WHERE rank=? AND group_id=? AND sequence<?");
        if (!erase) return failure(erase);
        auto done = erase->bind(1, std::int64_t{rank.value}).bind(2, group).bind(3, from).run();
        if (!done) return failure(done);
    }
}

Result<void> DetailRemover::trimPyramids(RankId rank, Timestamp until, Lanes which) {
    auto select = m_connection->prepare("SELECT lane, role FROM lanes WHERE rank=?");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value});
    std::vector<LaneId> lanes;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const LaneId lane{static_cast<std::uint32_t>(select->integer(0))};
        const Lanes own = isMemoryLane(lane)                                      ? Lanes::kMemory
                          : isFullOnly(static_cast<LaneRole>(select->integer(1))) ? Lanes::kFullOnly
                                                                                  : Lanes::kOthers;
        if (own == which) lanes.push_back(lane);
    }
    for (const LaneId lane : lanes)
        if (auto done = m_chunks->trimPyramid(rank, lane, until); !done) return done;
    return {};
}

Result<DetailRemover::Removed> DetailRemover::remove(RankId rank,
                                                     const std::vector<StoredChunk>& chunks,
                                                     const ThinPlan& plan) {
    const Timestamp until = plan.until.at(rank);
    const bool all = plan.left == CaptureLevel::kSteps;
    std::uint64_t events = 0;
    std::vector<const StoredChunk*> memory;
    std::size_t touched = 0;  // of them
    for (const StoredChunk& chunk : chunks) {
        if (chunk.rank == rank && chunk.kind == EventKind::kMemory) {
            memory.push_back(&chunk);
            if (chunk.first < until) touched = memory.size();
            continue;
        }
        if (chunk.rank != rank || chunk.first >= until || !(all || chunk.fullOnly)) continue;
        const auto gone = takeOut(chunk, until);
        if (!gone) return failure(gone);
        events += *gone;
    }
    if (auto done = trimPyramids(rank, until, Lanes::kFullOnly); !done) return failure(done);
    memory.resize(touched);
    auto removed = takeOutMemory(rank, memory, until);
    if (!removed) return removed;
    if (all) {
        if (auto done = trimPyramids(rank, until, Lanes::kOthers); !done) return failure(done);
        const auto gone = takeOutCollectives(rank, until);
        if (!gone) return failure(gone);
        events += *gone;
    }
    removed->events += events;
    return removed;
}

}  // namespace shardscope::storage
