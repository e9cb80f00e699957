#include "storage/recording/read/event_source.h"

#include "storage/columns/chunk.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/read/blob_loader.h"

#include <algorithm>
#include <utility>

namespace shardscope::storage {
namespace {

/// Events that one request holds decoded beside the cache, at most.
constexpr std::uint64_t kEventsABatch = 500'000;

using Decoded = Result<std::pair<AnyEvents, std::size_t>>;

template <class Event>
Decoded shared(Result<std::vector<Event>> events) {
    if (!events) return failure(events);
    const std::size_t size = events->size() * sizeof(Event) + 256;
    return std::pair<AnyEvents, std::size_t>(
        std::make_shared<const std::vector<Event>>(std::move(*events)), size);
}

Decoded decode(const EventSource::Wanted& wanted, std::span<const std::byte> bytes) {
    Decoded decoded = failure(ErrorCode::kUnreadable, "a chunk of unknown kind");
    columns::withStoredKind(wanted.kind,
                            [&](auto stored) { decoded = shared(stored.decode(bytes)); });
    return decoded;
}

}  // namespace

std::vector<ChunkEntry> touching(const std::vector<ChunkEntry>& chunks, TimeRange range) {
    std::vector<ChunkEntry> found;
    for (const ChunkEntry& chunk : chunks)
        if (mayTouch(chunk, range)) found.push_back(chunk);
    return found;
}

Result<void> EventSource::refresh(Connection& connection) {
    // A finalised recording never changes any more.
    if (!m_growing) return {};
    auto ended = connection.integer("SELECT status<>1 FROM run");
    auto finalised = connection.integer("SELECT finalised FROM run");
    if (!ended || !finalised) return failure(ended ? finalised : ended);
    const auto thinned = thinningState(connection);
    if (!thinned) return failure(thinned);
    const bool rewritten = std::exchange(m_thinned, *thinned) != *thinned;
    // Its writer merges small chunks at the end of the run, and finalises it then.
    if ((*ended != 0 && !std::exchange(m_ended, true)) || rewritten) {
        m_directory = {};
        m_cache.clear();
    }
    m_growing = *finalised == 0;
    return m_directory.refresh(connection);
}

Result<void> EventSource::load(Connection& connection, const std::vector<Wanted>& wanted,
                               const Generation& generation, LoadedChunks& loaded) {
    auto select = connection.prepare("SELECT data FROM chunks WHERE id = ?");
    if (!select) return failure(select);
    return loadBlobs(*select, m_pool, wanted, generation, decode, m_cache, loaded.m_events);
}

Result<AnyEvents> EventSource::chunk(Connection& connection, Wanted wanted) {
    LoadedChunks loaded;
    if (auto done = load(connection, {wanted}, {}, loaded); !done) return failure(done);
    return std::move(loaded.m_events.at(wanted.id));
}

template <class Event>
Result<void> EventSource::forChunks(Connection& connection, const std::vector<ChunkEntry>& chunks,
                                    const std::function<void(const std::vector<Event>&)>& use) {
    for (std::size_t at = 0; at < chunks.size();) {
        std::vector<Wanted> batch;
        for (std::uint64_t events = 0; at < chunks.size() && events < kEventsABatch; ++at) {
            batch.push_back({columns::StoredKind<Event>::kind, chunks[at].id});
            events += chunks[at].count;
        }
        LoadedChunks loaded;
        if (auto done = load(connection, batch, {}, loaded); !done) return done;
        for (const Wanted& one : batch) use(loaded.events<Event>(one.id));
    }
    return {};
}

template <class Test>
Result<std::vector<SpanEvent>> EventSource::spansIf(Connection& connection, RankId rank,
                                                    LaneId lane, TimeRange range, Test test,
                                                    bool takesAll) {
    std::vector<SpanEvent> found;
    const auto chunks = touching(m_directory.chunks(EventKind::kSpan, rank, lane), range);
    if (takesAll) {
        std::size_t within = 0;
        for (const ChunkEntry& chunk : chunks)
            if (range.contains(chunk.first) && range.contains(chunk.last)) within += chunk.count;
        found.reserve(within);
    }
    auto done = forChunks<SpanEvent>(connection, chunks, [&](const std::vector<SpanEvent>& events) {
        for (const SpanEvent& event : events)
            if (test(event) && touches(event, range)) found.push_back(event);
    });
    if (!done) return failure(done);
    sortIfNeeded(found, [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
    return found;
}

Result<std::vector<SpanEvent>> EventSource::spans(Connection& connection, RankId rank, LaneId lane,
                                                  TimeRange range) {
    return spansIf(
        connection, rank, lane, range, [](const SpanEvent&) { return true; }, true);
}

Result<std::vector<SpanEvent>> EventSource::spansNaming(Connection& connection, RankId rank,
                                                        LaneId lane, TimeRange range,
                                                        const std::vector<StringId>& texts) {
    // most spans are asked about in vain: a bit a string of the rank
    std::vector<bool> isWanted(texts.empty() ? 0 : std::size_t{texts.back().value} + 1);
    for (const StringId id : texts) isWanted[id.value] = true;
    const auto has = [&](StringId id) { return id.value < isWanted.size() && isWanted[id.value]; };
    return spansIf(
        connection, rank, lane, range,
        [&](const SpanEvent& span) { return has(span.name) || has(span.arguments); }, false);
}

template <class Event>
Result<std::vector<Event>> EventSource::moments(Connection& connection, RankId rank, LaneId lane,
                                                TimeRange range) {
    std::vector<Event> found;
    const auto& chunks = m_directory.chunks(columns::StoredKind<Event>::kind, rank, lane);
    auto done = forChunks<Event>(connection, touching(chunks, range),
                                 [&](const std::vector<Event>& events) {
                                     for (const Event& event : events)
                                         if (range.contains(event.time)) found.push_back(event);
                                 });
    if (!done) return failure(done);
    sortIfNeeded(found, [](const Event& a, const Event& b) { return a.time < b.time; });
    return found;
}
template Result<std::vector<MemoryEvent>> EventSource::moments(Connection&, RankId, LaneId,
                                                               TimeRange);
template Result<std::vector<FlowEvent>> EventSource::moments(Connection&, RankId, LaneId,
                                                             TimeRange);
template Result<std::vector<InstantEvent>> EventSource::moments(Connection&, RankId, LaneId,
                                                                TimeRange);

Result<void> EventSource::forMemory(Connection& connection, RankId rank, TimeRange range,
                                    const std::function<void(const MemoryEvent&)>& use) {
    const auto chunks = touching(m_directory.chunks(EventKind::kMemory, rank, {}), range);
    const auto overlap = std::adjacent_find(
        chunks.begin(), chunks.end(),
        [](const ChunkEntry& a, const ChunkEntry& b) { return b.first < a.last; });
    const auto show = [&](const std::vector<MemoryEvent>& events) {
        for (const MemoryEvent& event : events)
            if (range.contains(event.time)) use(event);
    };
    if (overlap != chunks.end()) {
        const auto sorted = moments<MemoryEvent>(connection, rank, {}, range);
        if (!sorted) return failure(sorted);
        show(*sorted);
        return {};
    }
    return forChunks<MemoryEvent>(connection, chunks, [&](const auto& events) {
        const auto before = [](const auto& a, const auto& b) { return a.time < b.time; };
        if (std::is_sorted(events.begin(), events.end(), before)) return show(events);
        std::vector<MemoryEvent> sorted = events;
        std::stable_sort(sorted.begin(), sorted.end(), before);
        show(sorted);
    });
}

Result<MemoryTally::ByCategory> EventSource::memoryBefore(Connection& connection, std::int64_t id) {
    auto select = connection.prepare("SELECT before FROM memory_state WHERE chunk = ?");
    if (!select) return failure(select);
    auto row = select->bind(1, id).step();
    if (!row) return failure(row);
    return *row ? MemoryTally::fromBlob(select->blob(0)) : MemoryTally::ByCategory{};
}

const std::vector<ChunkEntry>& EventSource::sampleChunks(RankId rank, LaneId lane) const {
    return m_directory.chunks(sampleKind(lane), rank, isMemoryLane(lane) ? LaneId{} : lane);
}

std::vector<ChunkEntry> EventSource::sampleChunks(RankId rank, LaneId lane, TimeRange range) const {
    const std::vector<ChunkEntry>& chunks = sampleChunks(rank, lane);
    std::vector<ChunkEntry> found = touching(chunks, range);
    // A chunk has a sample at its very beginning: one that begins earlier tells the value in force.
    const bool begun = std::any_of(found.begin(), found.end(), [&](const ChunkEntry& chunk) {
        return chunk.first < range.begin;
    });
    if (begun) return found;
    const auto before = std::find_if(chunks.rbegin(), chunks.rend(), [&](const ChunkEntry& chunk) {
        return chunk.last < range.begin;
    });
    if (before != chunks.rend()) found.push_back(*before);
    return found;
}

Result<std::vector<CounterEvent>> EventSource::samples(Connection& connection, RankId rank,
                                                       LaneId lane, TimeRange range) {
    SampleCollector collector(range);
    const std::vector<ChunkEntry> chunks = sampleChunks(rank, lane, range);
    Result<void> done;
    if (!isMemoryLane(lane)) {
        done = forChunks<CounterEvent>(
            connection, chunks,
            [&](const std::vector<CounterEvent>& samples) { collector.add(samples); });
    } else {
        std::vector<MemoryTally::ByCategory> before;
        for (const ChunkEntry& chunk : chunks) {
            auto state = memoryBefore(connection, chunk.id);
            if (!state) return failure(state);
            before.push_back(*state);
        }
        auto state = before.begin();
        done =
            forChunks<MemoryEvent>(connection, chunks, [&](const std::vector<MemoryEvent>& events) {
                collector.add(laneSamples(MemoryTally::startingAt(*state++), lane, events));
            });
    }
    if (!done) return failure(done);
    return collector.take();
}

void SampleCollector::add(const std::vector<CounterEvent>& samples) {
    for (const CounterEvent& sample : samples) {
        if (m_range.contains(sample.time)) m_found.push_back(sample);
        if (sample.time >= m_range.begin) continue;
        if (m_before.empty())
            m_before.push_back(sample);
        else if (sample.time >= m_before.front().time)
            m_before.front() = sample;
    }
}

std::vector<CounterEvent> SampleCollector::take() {
    sortIfNeeded(m_found,
                 [](const CounterEvent& a, const CounterEvent& b) { return a.time < b.time; });
    m_before.insert(m_before.end(), m_found.begin(), m_found.end());
    return std::move(m_before);
}

}  // namespace shardscope::storage
