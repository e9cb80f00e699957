// Decoded events of a recording by lane and time, with a bounded cache of chunks.
//
// Lives on the reader's thread. The connection is lent for each call, because a reader of a
// growing recording closes its own between calls.
#pragma once

#include "storage/recording/chunk_directory.h"
#include "storage/recording/memory_tally.h"

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

/// Keeps the values used last, up to a number of bytes.
template <class Value>
class BoundedCache {
public:
    explicit BoundedCache(std::size_t budget) : m_budget(budget) {}

    [[nodiscard]] const Value* find(std::int64_t id) {
        const auto at = m_index.find(id);
        if (at == m_index.end()) return nullptr;
        m_items.splice(m_items.begin(), m_items, at->second);
        return &m_items.front().value;
    }
    const Value& put(std::int64_t id, Value value, std::size_t size) {
        while (!m_items.empty() && m_used + size > m_budget) {
            m_used -= m_items.back().size;
            m_index.erase(m_items.back().id);
            m_items.pop_back();
        }
        m_items.push_front({id, size, std::move(value)});
        m_index[id] = m_items.begin();
        m_used += size;
        return m_items.front().value;
    }

private:
    struct Item {
        std::int64_t id;
        std::size_t size;
        Value value;
    };
    std::size_t m_budget;
    std::size_t m_used = 0;
    std::list<Item> m_items;  ///< used last first
    std::unordered_map<std::int64_t, typename std::list<Item>::iterator> m_index;
};

template <class Event>
using EventsPtr = std::shared_ptr<const std::vector<Event>>;

class EventSource {
public:
    /// Must see one state of the file together with what is read after it: within a transaction
    /// where the recording grows. Finalising renumbers chunks, so all is forgotten then.
    Result<void> refresh(Connection& connection);
    [[nodiscard]] const ChunkDirectory& directory() const { return m_directory; }

    Result<EventsPtr<SpanEvent>> spanChunk(Connection& connection, std::int64_t id);
    Result<EventsPtr<MemoryEvent>> memoryChunk(Connection& connection, std::int64_t id);
    Result<EventsPtr<CounterEvent>> counterChunk(Connection& connection, std::int64_t id);

    /// Spans that intersect `range` (an empty one intersects where it starts), by start.
    Result<std::vector<SpanEvent>> spans(Connection& connection, RankId rank, LaneId lane,
                                         TimeRange range);
    /// Memory events within `range`, by time.
    Result<std::vector<MemoryEvent>> memory(Connection& connection, RankId rank, TimeRange range);
    /// Samples within `range` with the last one before it in front, by time. Memory lanes are
    /// derived from memory events.
    Result<std::vector<CounterEvent>> samples(Connection& connection, RankId rank, LaneId lane,
                                              TimeRange range);

    /// Chunks that a counter lane's samples come from, and the samples of one of them.
    [[nodiscard]] const std::vector<ChunkEntry>& sampleChunks(RankId rank, LaneId lane) const;
    Result<std::vector<CounterEvent>> chunkSamples(Connection& connection, LaneId lane,
                                                   std::int64_t id);

    /// Fills in the memory peak of a rank within `range`.
    Result<void> findMemoryPeak(Connection& connection, RankId rank, TimeRange range,
                                RankEvents& events);

private:
    Result<std::vector<std::byte>> blob(Connection& connection, std::int64_t id);
    Result<MemoryTally::ByCategory> memoryBefore(Connection& connection, std::int64_t id);

    static constexpr std::size_t kCacheBytes = 48u << 20;  ///< of each kind

    bool m_growing = true;  ///< when last refreshed
    ChunkDirectory m_directory;
    BoundedCache<EventsPtr<SpanEvent>> m_spans{kCacheBytes};
    BoundedCache<EventsPtr<MemoryEvent>> m_memory{kCacheBytes};
    BoundedCache<EventsPtr<CounterEvent>> m_counters{kCacheBytes};
};

/// Whether a span has to do with `range`: it overlaps, or is empty and starts inside.
[[nodiscard]] inline bool touches(const SpanEvent& event, TimeRange range) {
    return event.range().intersects(range) || range.contains(event.start);
}
/// Chunk bounds are closed: `last` is the latest end or time.
[[nodiscard]] inline bool mayTouch(const ChunkEntry& chunk, TimeRange range) {
    return chunk.first < range.end && chunk.last >= range.begin;
}

}  // namespace shardscope::storage
