// Decoded events of a recording by lane and time, with a bounded cache of chunks.
//
// Lives on the reader's thread, which alone reads the file; chunks are decoded on several. The
// connection is lent for each call, because a reader of a growing recording closes its own between
// calls.
#pragma once

#include "storage/columns/stored_kinds.h"
#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/file/memory_tally.h"
#include "storage/recording/file/worker_pool.h"
#include "storage/recording/read/blob_loader.h"
#include "storage/recording/read/generation.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shardscope::storage {

template <class Event>
using EventsPtr = std::shared_ptr<const std::vector<Event>>;
template <class Events>
struct AnyOf;
template <class... Event>
struct AnyOf<std::tuple<Event...>> {
    using Type = std::variant<EventsPtr<Event>...>;
};
/// Decoded events of one chunk, of any stored kind.
using AnyEvents = AnyOf<columns::StoredEvents>::Type;

/// Decoded chunks that a request works on: kept until it is done, whatever the cache forgets.
class LoadedChunks {
public:
    template <class Event>
    [[nodiscard]] const std::vector<Event>& events(std::int64_t id) const {
        return *std::get<EventsPtr<Event>>(m_events.at(id));
    }

private:
    friend class EventSource;
    std::unordered_map<std::int64_t, AnyEvents> m_events;
};

class EventSource {
public:
    /// Decodes on at most `threads` threads; 0 is as many as the hardware has.
    explicit EventSource(std::size_t threads = 1) : m_pool(threads) {}

    /// Must see one state of the file together with what is read after it: within a transaction
    /// where the recording grows. Finalising renumbers chunks, so all is forgotten then.
    Result<void> refresh(Connection& connection);
    [[nodiscard]] const ChunkDirectory& directory() const { return m_directory; }
    [[nodiscard]] bool growing() const { return m_growing; }
    /// That of a finalised recording.
    void take(const ChunkDirectory& directory) {
        m_directory = directory;
        m_growing = false;
    }
    [[nodiscard]] WorkerPool& pool() { return m_pool; }

    struct Wanted {
        EventKind kind = EventKind::kSpan;
        std::int64_t id = 0;
    };
    /// Adds chunks to `loaded`, each once. kCancelled as soon as `generation` is superseded; what
    /// was decoded until then stays in the cache.
    Result<void> load(Connection& connection, const std::vector<Wanted>& wanted,
                      const Generation& generation, LoadedChunks& loaded);

    Result<AnyEvents> chunk(Connection& connection, Wanted wanted);
    template <class Event>
    Result<EventsPtr<Event>> chunk(Connection& connection, std::int64_t id) {
        auto events = chunk(connection, {columns::StoredKind<Event>::kind, id});
        if (!events) return failure(events);
        return std::get<EventsPtr<Event>>(std::move(*events));
    }

    /// Spans that intersect `range` (an empty one intersects where it starts), by start.
    Result<std::vector<SpanEvent>> spans(Connection& connection, RankId rank, LaneId lane,
                                         TimeRange range);
    /// Those whose name or arguments are one of `texts`, which are sorted.
    Result<std::vector<SpanEvent>> spansNaming(Connection& connection, RankId rank, LaneId lane,
                                               TimeRange range, const std::vector<StringId>& texts);
    /// Memory events, flows or instants within `range`, by time. Memory events have no lane.
    template <class Event>
    Result<std::vector<Event>> moments(Connection& connection, RankId rank, LaneId lane,
                                       TimeRange range);
    /// Shows a rank's memory events within `range`, by time, without keeping them.
    Result<void> forMemory(Connection& connection, RankId rank, TimeRange range,
                           const std::function<void(const MemoryEvent&)>& use);
    /// Samples within `range` with the last one before it in front, by time. Memory lanes are
    /// derived from memory events.
    Result<std::vector<CounterEvent>> samples(Connection& connection, RankId rank, LaneId lane,
                                              TimeRange range);

    /// Chunks that a counter lane's samples come from.
    [[nodiscard]] const std::vector<ChunkEntry>& sampleChunks(RankId rank, LaneId lane) const;
    /// Those of them that samples() of `range` needs.
    [[nodiscard]] std::vector<ChunkEntry> sampleChunks(RankId rank, LaneId lane,
                                                       TimeRange range) const;
    /// What was alive before a memory chunk, by category.
    Result<MemoryTally::ByCategory> memoryBefore(Connection& connection, std::int64_t id);

    /// Fills in the memory peak of a rank within `range`.
    Result<void> findMemoryPeak(Connection& connection, RankId rank, TimeRange range,
                                RankEvents& events);

private:
    /// Those for which `test` is true, by start. `takesAll`: it always is, so that their number is
    /// known before.
    template <class Test>
    Result<std::vector<SpanEvent>> spansIf(Connection& connection, RankId rank, LaneId lane,
                                           TimeRange range, Test test, bool takesAll);
    /// Calls `use` with the events of one chunk after the other, and decodes some of them ahead.
    template <class Event>
    Result<void> forChunks(Connection& connection, const std::vector<ChunkEntry>& chunks,
                           const std::function<void(const std::vector<Event>&)>& use);

    static constexpr std::size_t kCacheBytes = 32u << 20;

    bool m_growing = true;       ///< when last refreshed
    bool m_ended = false;        ///< the run had ended when last refreshed
    std::int64_t m_thinned = 0;  ///< thinningState() then
    ChunkDirectory m_directory;
    BoundedCache<AnyEvents> m_cache{kCacheBytes};
    WorkerPool m_pool;
};

/// Of the chunks that a lane's samples come from.
[[nodiscard]] inline EventKind sampleKind(LaneId lane) {
    return isMemoryLane(lane) ? EventKind::kMemory : EventKind::kCounter;
}

/// Samples within `range` and the last one before it in front, out of chunks in any order.
class SampleCollector {
public:
    explicit SampleCollector(TimeRange range) : m_range(range) {}
    void add(const std::vector<CounterEvent>& samples);
    [[nodiscard]] std::vector<CounterEvent> take();

private:
    TimeRange m_range;
    std::vector<CounterEvent> m_found;
    std::vector<CounterEvent> m_before;  ///< one, or none
};

/// Whether a span has to do with `range`: it overlaps, or is empty and starts inside.
[[nodiscard]] inline bool touches(const SpanEvent& event, TimeRange range) {
    return event.range().intersects(range) || range.contains(event.start);
}
/// Chunk bounds are closed: `last` is the latest end or time.
[[nodiscard]] inline bool mayTouch(const ChunkEntry& chunk, TimeRange range) {
    return chunk.first < range.end && chunk.last >= range.begin;
}
[[nodiscard]] std::vector<ChunkEntry> touching(const std::vector<ChunkEntry>& chunks,
                                               TimeRange range);

/// Events of one lane seldom come out of order: sort only when they do.
template <class Event, class Before>
void sortIfNeeded(std::vector<Event>& events, Before before) {
    if (!std::is_sorted(events.begin(), events.end(), before))
        std::stable_sort(events.begin(), events.end(), before);
}

}  // namespace shardscope::storage
