#include "storage/recording/write/chunk_writer.h"

#include "storage/columns/stored_kinds.h"
#include "storage/recording/file/row_sql.h"

#include <algorithm>
#include <cstring>

namespace shardscope::storage {
namespace {

/// Events of a chunk by lane, each in the order they came.
template <class Event>
std::map<LaneId, std::vector<Event>> splitByLane(const std::vector<Event>& events,
                                                 const columns::ChunkHeader& header) {
    std::map<LaneId, std::vector<Event>> lanes;
    for (const columns::LaneCount& lane : header.lanes) lanes[lane.lane].reserve(lane.count);
    // Neighbours are often of one lane.
    LaneId last;
    std::vector<Event>* own = nullptr;
    for (const Event& event : events) {
        if (own == nullptr || event.lane != last) own = &lanes[last = event.lane];
        own->push_back(event);
    }
    return lanes;
}

std::vector<std::byte> arrivalsBlob(const CollectiveEvent& event) {
    std::vector<std::byte> blob(event.arrivals.size() * 8);
    for (std::size_t i = 0; i < event.arrivals.size(); ++i)
        std::memcpy(blob.data() + i * 8, &event.arrivals[i].ns, 8);
    return blob;
}

std::optional<std::int64_t> lateRank(const CollectiveEvent& event) {
    if (event.arrivals.empty()) return std::nullopt;
    return static_cast<std::int64_t>(event.arrivals.lastPlace());
}

constexpr std::size_t kStored = columns::kStoredChunkEvents;

constexpr const char* kInsertCollective =
    "INSERT OR REPLACE INTO collectives VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr const char* kInsertChunk =
    "INSERT INTO chunks(kind, rank, lane, first_ns, last_ns, count, bytes, data)"
    " VALUES(?,?,?,?,?,?,?,?)";

constexpr const char* kInsertMemoryState = "INSERT INTO memory_state VALUES(?,?,?,?,?)";

}  // namespace

Result<ChunkWriter> ChunkWriter::create(Connection& connection) {
    auto pyramids = PyramidStore::create(connection);
    if (!pyramids) return failure(pyramids);
    ChunkWriter writer(connection, std::move(*pyramids));
    const auto prepare = [&](const std::string& sql,
                             std::optional<Statement>& into) -> Result<void> {
        auto statement = connection.prepare(sql);
        if (!statement) return failure(statement);
        into = std::move(*statement);
        return {};
    };
    const std::pair<std::string, std::optional<Statement>*> statements[] = {
        {kInsertChunk, &writer.m_insertChunk},
        {kInsertCollective, &writer.m_insertCollective},
        {kInsertMemoryState, &writer.m_insertMemoryState},
        {insertSql(tableOf<LaneFacts>(), "INSERT OR IGNORE"), &writer.m_insertLane}};
    for (const auto& [sql, into] : statements)
        if (auto done = prepare(sql, *into); !done) return failure(done);
    return writer;
}

Result<void> ChunkWriter::insert(const columns::ChunkHeader& header, std::optional<LaneId> lane,
                                 std::span<const std::byte> bytes) {
    m_insertChunk->bind(1, static_cast<std::int64_t>(header.kind))
        .bind(2, std::int64_t{header.rank.value})
        .bind(4, header.first.ns)
        .bind(5, header.last.ns)
        .bind(6, std::int64_t{header.count})
        .bind(7, static_cast<std::int64_t>(bytes.size()))
        .bind(8, bytes);
    if (lane) m_insertChunk->bind(3, std::int64_t{lane->value});
    if (auto stored = m_insertChunk->run(); !stored) return stored;
    m_lastChunk = m_connection->lastInsertedId();
    return {};
}

template <class Event>
Result<void> ChunkWriter::insertParts(RankId rank, LaneId lane, const std::vector<Event>& events) {
    for (std::size_t at = 0; at < events.size(); at += kStored) {
        const std::span<const Event> rest = std::span(events).subspan(at);
        const columns::ChunkBytes bytes =
            columns::StoredKind<Event>::encode(rank, rest.first(std::min(kStored, rest.size())));
        auto header = columns::decodeHeader(bytes);
        if (!header) return failure(header);
        if (auto stored = insert(*header, lane, bytes); !stored) return stored;
    }
    return {};
}

/// Before which what comes on a lane is not kept any more.
Result<Timestamp> ChunkWriter::thinnedUntil(RankId rank, LaneId lane) {
    const Thinned& until = m_thinned[rank];
    if (until.fullOnly == until.all) return until.all;
    auto select = m_connection->prepare("SELECT role FROM lanes WHERE rank=? AND lane=?");
    if (!select) return failure(select);
    auto row = select->bind(1, std::int64_t{rank.value}).bind(2, std::int64_t{lane.value}).step();
    if (!row) return failure(row);
    const bool fullOnly = *row && isFullOnly(static_cast<LaneRole>(select->integer(0)));
    return fullOnly ? until.fullOnly : until.all;
}

template <class Event>
Result<void> ChunkWriter::dropThinned(RankId rank, std::vector<Event>& events) {
    const auto timeOf = [](const Event& event) {
        return columns::StoredKind<Event>::timeOf(event);
    };
    const auto thinned = m_thinned.find(rank);
    if (thinned == m_thinned.end() || events.empty() ||
        timeOf(events.front()) >= std::max(thinned->second.fullOnly, thinned->second.all))
        return {};
    std::map<LaneId, Timestamp> until;
    for (const Event& event : events) {
        if (until.contains(event.lane)) continue;
        auto found = thinnedUntil(rank, event.lane);
        if (!found) return failure(found);
        until.emplace(event.lane, *found);
    }
    const std::size_t dropped = std::erase_if(
        events, [&](const Event& event) { return timeOf(event) < until.at(event.lane); });
    return dropped == 0 ? Result<void>{} : countLateRemovals(*m_connection, rank, dropped);
}

Result<void> ChunkWriter::add(const columns::ChunkHeader& header,
                              std::span<const std::byte> chunk) {
    if (header.kind == EventKind::kCollective) return addCollectives(header.rank, chunk);
    Result<void> done = failure(ErrorCode::kUnreadable, "a chunk of unknown kind");
    columns::withStoredKind(header.kind, [&]<class Event>(columns::StoredKind<Event> stored) {
        if constexpr (stored.lanes)
            done = addByLane<Event>(header, chunk);
        else
            done = addMemory(header.rank, chunk);
    });
    return done;
}

template <class Event>
Result<void> ChunkWriter::addByLane(const columns::ChunkHeader& came,
                                    std::span<const std::byte> chunk) {
    auto events = columns::StoredKind<Event>::decode(chunk);
    if (!events) return failure(events);
    m_newest = std::max(m_newest, came.last);
    const std::size_t all = events->size();
    if (auto kept = dropThinned(came.rank, *events); !kept) return kept;
    for (const auto& [lane, own] : splitByLane(*events, came)) {
        if (own.empty()) continue;
        const bool asItIs = own.size() == all && own.size() <= kStored;
        auto stored = asItIs ? insert(came, lane, chunk) : insertParts(came.rank, lane, own);
        if (!stored) return stored;
        if (auto fed = feed(came.rank, lane, own); !fed) return fed;
        m_events.of(came.kind) += own.size();
    }
    return {};
}

Result<void> ChunkWriter::feed(RankId rank, LaneId lane, const std::vector<SpanEvent>& events) {
    return m_pyramids.addSpans(rank, lane, events);
}
Result<void> ChunkWriter::feed(RankId rank, LaneId lane, const std::vector<CounterEvent>& events) {
    return m_pyramids.addSamples(rank, lane, events);
}
Result<void> ChunkWriter::feed(RankId rank, LaneId lane, const std::vector<InstantEvent>& events) {
    return m_pyramids.addSpans(rank, lane, columns::asSpans(events));
}

Result<void> ChunkWriter::addMemory(RankId rank, std::span<const std::byte> chunk) {
    auto header = columns::decodeHeader(chunk);
    if (!header) return failure(header);
    auto events = columns::decodeMemory(chunk);
    if (!events) return failure(events);
    m_newest = std::max(m_newest, header->last);
    // Late ones count from where memory begins in the file: without them the sums would be off.
    columns::ChunkBytes moved;
    const Timestamp begins = m_thinned[rank].fullOnly;
    if (header->first < begins) {
        for (MemoryEvent& event : *events) event.time = std::max(event.time, begins);
        moved = columns::encodeMemory(rank, *events);
        header = columns::decodeHeader(moved);
        if (!header) return failure(header);
        chunk = moved;
    }
    MemoryTally& tally = m_memory[rank];
    const MemoryTally::ByCategory before = tally.bytes();
    tally.restartPeak(header->first);
    for (const MemoryEvent& event : *events) tally.apply(event);
    if (auto stored = insert(*header, std::nullopt, chunk); !stored) return stored;
    if (auto stored = insertMemoryState(before, tally); !stored) return stored;
    m_events.memory += events->size();
    if (auto declared = declareMemoryLanes(rank, *events); !declared) return declared;
    return addMemorySamples(rank, before, *events);
}

Result<void> ChunkWriter::insertMemoryState(const MemoryTally::ByCategory& before,
                                            const MemoryTally& after) {
    const auto beforeBlob = MemoryTally::toBlob(before);
    const auto peakBlob = MemoryTally::toBlob(after.atPeak());
    return m_insertMemoryState->bind(1, m_lastChunk)
        .bind(2, std::span<const std::byte>(beforeBlob))
        .bind(3, after.peakTime().ns)
        .bind(4, after.peak().count)
        .bind(5, std::span<const std::byte>(peakBlob))
        .run();
}

Result<void> ChunkWriter::declareMemoryLanes(RankId rank, const std::vector<MemoryEvent>& events) {
    // Below everything that ranks declare themselves.
    constexpr std::int32_t kFirstPosition = 1000;
    std::uint32_t& declared = m_memoryLanes[rank];
    const auto declare = [&](LaneId lane, const std::string& name, std::int32_t position) {
        const LaneFacts facts{rank, lane, LaneRole::kCounter, name, "bytes", position};
        return bindRow(*m_insertLane, facts).run();
    };
    if (declared == 0) {
        auto done = declare(kMemoryTotalLane, "memory: total", kFirstPosition);
        if (!done) return done;
    }
    for (const MemoryEvent& event : events) {
        const auto category = static_cast<std::uint32_t>(event.category);
        if ((declared >> category & 1u) != 0) continue;
        declared |= 1u << category;
        auto done =
            declare(memoryLane(event.category), std::string("memory: ") + toWord(event.category),
                    kFirstPosition + 1 + static_cast<std::int32_t>(category));
        if (!done) return done;
    }
    return {};
}

Result<void> ChunkWriter::addMemorySamples(RankId rank, const MemoryTally::ByCategory& before,
                                           const std::vector<MemoryEvent>& events) {
    const MemoryTally tally = MemoryTally::startingAt(before);
    const auto feed = [&](LaneId lane) {
        return m_pyramids.addSamples(rank, lane, laneSamples(tally, lane, events));
    };
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        if ((m_memoryLanes[rank] >> i & 1u) == 0) continue;
        if (auto fed = feed(memoryLane(static_cast<MemoryCategory>(i))); !fed) return fed;
    }
    return feed(kMemoryTotalLane);
}

Result<void> ChunkWriter::addCollectives(RankId rank, std::span<const std::byte> chunk) {
    auto events = columns::decodeCollectives(chunk);
    if (!events) return failure(events);
    const auto thinned = m_thinned.find(rank);
    if (thinned != m_thinned.end()) {
        const std::size_t dropped = std::erase_if(*events, [&](const CollectiveEvent& event) {
            return event.issue < thinned->second.all;
        });
        if (dropped > 0)
            if (auto done = countLateRemovals(*m_connection, rank, dropped); !done) return done;
    }
    for (const CollectiveEvent& event : *events)
        if (auto stored = insertCollective(rank, event); !stored) return stored;
    m_events.collectives += events->size();
    return {};
}

Result<void> ChunkWriter::insertCollective(RankId rank, const CollectiveEvent& event) {
    const std::vector<std::byte> arrivals = arrivalsBlob(event);
    return m_insertCollective->bind(1, std::int64_t{rank.value})
        .bind(2, std::int64_t{event.group})
        .bind(3, static_cast<std::int64_t>(event.sequence))
        .bind(4, toWord(event.operation))
        .bind(5, toWord(event.dtype))
        .bind(6, toWord(event.cause))
        .bind(7, std::int64_t{event.layer.value})
        .bind(8, std::int64_t{event.step.value})
        .bind(9, event.size.count)
        .bind(10, std::int64_t{event.algorithm.value})
        .bind(11, std::int64_t{event.protocol.value})
        .bind(12, event.issue.ns)
        .bind(13, event.start.ns)
        .bind(14, event.end.ns)
        .bind(15, event.lastArrival().ns)
        .bind(16, lateRank(event))
        .bind(17, std::span<const std::byte>(arrivals))
        .run();
}

}  // namespace shardscope::storage
