#include "storage/recording/write/detail_remover.h"

#include "storage/columns/stored_kinds.h"
#include "storage/recording/write/memory_balance.h"

#include <algorithm>
#include <set>
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

/// What of a rank's memory events goes and what stays, taken from whole chunks.
struct DetailRemover::MemoryCut {
    std::uint64_t events = 0;         ///< of the chunks
    std::vector<MemoryEvent> alive;   ///< allocations without a free, moved to the cut
    std::vector<MemoryEvent> kept;    ///< from the cut on, by time
    std::optional<MemoryPeak> peak;   ///< of what goes
    MemoryTally::ByCategory bytes{};  ///< at the cut
    /// All in the last chunk, or what is alive in the first one. Neither: it waits until there are
    /// more chunks.
    [[nodiscard]] bool together() const {
        return alive.size() + kept.size() <= columns::kMaxChunkEvents;
    }
    [[nodiscard]] bool apart(std::size_t chunks) const {
        return chunks > 1 && alive.size() <= columns::kMaxChunkEvents &&
               kept.size() <= columns::kMaxChunkEvents;
    }
};

Result<DetailRemover::MemoryCut> DetailRemover::cutMemory(
    RankId rank, const std::vector<const StoredChunk*>& chunks, Timestamp until) {
    const auto counted = calibrated(rank);
    if (!counted) return failure(counted);
    MemoryCut cut;
    MemoryBalance balance;
    MemoryTally tally;
    const auto pass = [&](const MemoryEvent& event) {
        balance.apply(event);
        tally.apply(event);
        const bool higher = !cut.peak || tally.total() > cut.peak->size;
        if (event.time >= *counted && higher)
            cut.peak = MemoryPeak{event.time, tally.total(), tally.bytes()};
    };
    for (const StoredChunk* chunk : chunks) {
        auto bytes = data(chunk->id);
        if (!bytes) return failure(bytes);
        auto events = columns::decodeMemory(*bytes);
        if (!events) return failure(events);
        cut.events += events->size();
        for (const MemoryEvent& event : *events)
            if (event.time < until)
                pass(event);
            else
                cut.kept.push_back(event);
    }
    std::stable_sort(cut.kept.begin(), cut.kept.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time; });
    cut.alive = balance.at(until);
    cut.bytes = tally.bytes();
    return cut;
}

/// `chunks`: those that begin before `until` and what came before them, in order.
Result<DetailRemover::Removed> DetailRemover::takeOutMemory(
    RankId rank, const std::vector<const StoredChunk*>& chunks, Timestamp until) {
    if (chunks.empty()) return Removed{};
    const auto cut = cutMemory(rank, chunks, until);
    if (!cut) return failure(cut);
    if (!cut->together() && !cut->apart(chunks.size())) return Removed{};
    if (auto done = trimPyramids(rank, until, Lanes::kMemory); !done) return failure(done);
    if (!cut->alive.empty()) {
        if (auto fed = m_chunks->addMemorySamples(rank, {}, cut->alive); !fed) return failure(fed);
        // Stores them, as the chunk that they are in is one of those that segments reach through.
        if (auto done = trimPyramids(rank, until, Lanes::kMemory); !done) return failure(done);
    }
    if (auto done = putMemory(rank, chunks, *cut); !done) return failure(done);
    return Removed{cut->events - cut->alive.size() - cut->kept.size(), cut->peak};
}

/// Into the last chunk's place: segments may not reach through it yet.
Result<void> DetailRemover::putMemory(RankId rank, const std::vector<const StoredChunk*>& chunks,
                                      const MemoryCut& cut) {
    const std::int64_t front = chunks.front()->id, back = chunks.back()->id;
    std::set<std::int64_t> used;
    if (cut.together()) {
        std::vector<MemoryEvent> all = cut.alive;
        all.insert(all.end(), cut.kept.begin(), cut.kept.end());
        if (!all.empty()) {
            used.insert(back);
            if (auto done = storeMemory(back, rank, all, {}); !done) return done;
        }
    } else {
        used = {front, back};
        if (auto done = storeMemory(front, rank, cut.alive, {}); !done) return done;
        if (auto done = storeMemory(back, rank, cut.kept, cut.bytes); !done) return done;
    }
    for (const StoredChunk* chunk : chunks)
        if (!used.contains(chunk->id))
            if (auto done = erase(chunk->id); !done) return done;
    return {};
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
        const auto gone = removeCollectives(*m_connection, rank, until);
        if (!gone) return failure(gone);
        events += *gone;
    }
    removed->events += events;
    return removed;
}

}  // namespace shardscope::storage
