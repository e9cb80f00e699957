#include "storage/recording/event_source.h"

#include "storage/columns/chunk.h"

#include <algorithm>
#include <optional>

namespace shardscope::storage {
namespace {

template <class Event, class Decode>
Result<EventsPtr<Event>> cached(BoundedCache<EventsPtr<Event>>& cache, std::int64_t id,
                                Decode decode) {
    if (const EventsPtr<Event>* found = cache.find(id)) return *found;
    Result<std::vector<Event>> events = decode();
    if (!events) return failure(events);
    const std::size_t size = events->size() * sizeof(Event) + 256;
    return cache.put(id, std::make_shared<const std::vector<Event>>(std::move(*events)), size);
}

/// Chunks of one lane seldom overlap: sort only when they do.
template <class Event, class Before>
void sortIfNeeded(std::vector<Event>& events, Before before) {
    if (!std::is_sorted(events.begin(), events.end(), before))
        std::stable_sort(events.begin(), events.end(), before);
}

bool isMemoryLane(LaneId lane) {
    return lane.value >= memoryLane({}).value;
}

}  // namespace

Result<void> EventSource::refresh(Connection& connection) {
    auto finalised = connection.integer("SELECT finalised FROM run");
    if (!finalised) return failure(finalised);
    if (m_growing && *finalised != 0) {
        m_growing = false;
        m_directory = {};
        m_spans = BoundedCache<EventsPtr<SpanEvent>>(kCacheBytes);
        m_memory = BoundedCache<EventsPtr<MemoryEvent>>(kCacheBytes);
        m_counters = BoundedCache<EventsPtr<CounterEvent>>(kCacheBytes);
    }
    return m_directory.refresh(connection);
}

Result<std::vector<std::byte>> EventSource::blob(Connection& connection, std::int64_t id) {
    auto select = connection.prepare("SELECT data FROM chunks WHERE id = ?");
    if (!select) return failure(select);
    auto row = select->bind(1, id).step();
    if (!row) return failure(row);
    if (!*row)
        return failure(ErrorCode::kUnreadable, connection.path() + " lacks event chunk " +
                                                   std::to_string(id) +
                                                   ": the file was replaced, open it again");
    const auto bytes = select->blob(0);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<EventsPtr<SpanEvent>> EventSource::spanChunk(Connection& connection, std::int64_t id) {
    return cached(m_spans, id, [&]() -> Result<std::vector<SpanEvent>> {
        auto bytes = blob(connection, id);
        if (!bytes) return failure(bytes);
        return columns::decodeSpans(*bytes);
    });
}

Result<EventsPtr<MemoryEvent>> EventSource::memoryChunk(Connection& connection, std::int64_t id) {
    return cached(m_memory, id, [&]() -> Result<std::vector<MemoryEvent>> {
        auto bytes = blob(connection, id);
        if (!bytes) return failure(bytes);
        return columns::decodeMemory(*bytes);
    });
}

Result<EventsPtr<CounterEvent>> EventSource::counterChunk(Connection& connection, std::int64_t id) {
    return cached(m_counters, id, [&]() -> Result<std::vector<CounterEvent>> {
        auto bytes = blob(connection, id);
        if (!bytes) return failure(bytes);
        return columns::decodeCounters(*bytes);
    });
}

Result<std::vector<SpanEvent>> EventSource::spans(Connection& connection, RankId rank, LaneId lane,
                                                  TimeRange range) {
    std::vector<SpanEvent> found;
    for (const ChunkEntry& chunk : m_directory.chunks(EventKind::kSpan, rank, lane)) {
        if (!mayTouch(chunk, range)) continue;
        auto events = spanChunk(connection, chunk.id);
        if (!events) return failure(events);
        for (const SpanEvent& event : **events)
            if (touches(event, range)) found.push_back(event);
    }
    sortIfNeeded(found, [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
    return found;
}

Result<std::vector<MemoryEvent>> EventSource::memory(Connection& connection, RankId rank,
                                                     TimeRange range) {
    std::vector<MemoryEvent> found;
    for (const ChunkEntry& chunk : m_directory.chunks(EventKind::kMemory, rank, {})) {
        if (!mayTouch(chunk, range)) continue;
        auto events = memoryChunk(connection, chunk.id);
        if (!events) return failure(events);
        for (const MemoryEvent& event : **events)
            if (range.contains(event.time)) found.push_back(event);
    }
    sortIfNeeded(found, [](const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time; });
    return found;
}

Result<MemoryTally::ByCategory> EventSource::memoryBefore(Connection& connection, std::int64_t id) {
    auto select = connection.prepare("SELECT before FROM memory_state WHERE chunk = ?");
    if (!select) return failure(select);
    auto row = select->bind(1, id).step();
    if (!row) return failure(row);
    return *row ? MemoryTally::fromBlob(select->blob(0)) : MemoryTally::ByCategory{};
}

Result<std::vector<CounterEvent>> EventSource::chunkSamples(Connection& connection, LaneId lane,
                                                            std::int64_t id) {
    if (!isMemoryLane(lane)) {
        auto events = counterChunk(connection, id);
        if (!events) return failure(events);
        return **events;
    }
    auto events = memoryChunk(connection, id);
    if (!events) return failure(events);
    auto before = memoryBefore(connection, id);
    if (!before) return failure(before);
    return laneSamples(MemoryTally::startingAt(*before), lane, **events);
}

const std::vector<ChunkEntry>& EventSource::sampleChunks(RankId rank, LaneId lane) const {
    if (isMemoryLane(lane)) return m_directory.chunks(EventKind::kMemory, rank, {});
    return m_directory.chunks(EventKind::kCounter, rank, lane);
}

Result<std::vector<CounterEvent>> EventSource::samples(Connection& connection, RankId rank,
                                                       LaneId lane, TimeRange range) {
    const std::vector<ChunkEntry>& chunks = sampleChunks(rank, lane);
    std::vector<CounterEvent> found;
    std::optional<CounterEvent> before;
    const auto take = [&](const std::vector<CounterEvent>& samples) {
        for (const CounterEvent& sample : samples) {
            if (range.contains(sample.time)) found.push_back(sample);
            if (sample.time < range.begin && (!before || sample.time >= before->time))
                before = sample;
        }
    };
    // Newest first, so that the value in force before the range is met with one more chunk.
    std::vector<const ChunkEntry*> wanted;
    for (const ChunkEntry& chunk : chunks)
        if (mayTouch(chunk, range)) wanted.push_back(&chunk);
    for (const ChunkEntry* chunk : wanted) {
        auto samples = chunkSamples(connection, lane, chunk->id);
        if (!samples) return failure(samples);
        take(*samples);
    }
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend() && !before; ++chunk) {
        if (chunk->last >= range.begin) continue;
        auto samples = chunkSamples(connection, lane, chunk->id);
        if (!samples) return failure(samples);
        take(*samples);
    }
    const auto byTime = [](const CounterEvent& a, const CounterEvent& b) {
        return a.time < b.time;
    };
    sortIfNeeded(found, byTime);
    if (before) found.insert(found.begin(), *before);
    return found;
}

}  // namespace shardscope::storage
