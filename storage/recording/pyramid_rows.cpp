#include "storage/recording/pyramid_rows.h"

#include <algorithm>
#include <limits>

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

constexpr std::int64_t kManySegments = 4096;

template <class Summary>
Result<std::vector<Summary>> decode(std::span<const std::byte> blob) {
    if constexpr (std::is_same_v<Summary, SpanSummary>)
        return columns::decodeSpanSummaries(blob);
    else
        return columns::decodeCounterSummaries(blob);
}

/// What is stored of a stretch of one level.
template <class Summary>
struct Stored {
    std::vector<Summary> summaries;
    std::map<std::int64_t, std::int64_t> through;  ///< segment -> last chunk in it
};

template <class Summary>
Result<Stored<Summary>> loadLevel(Connection& connection, const PyramidQuery& query, int level,
                                  std::int64_t from, std::int64_t to) {
    auto select = connection.prepare(
        "SELECT segment, through_chunk, data FROM pyramid"
        " WHERE rank=? AND lane=? AND level=? AND segment BETWEEN ? AND ?");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{query.rank.value})
        .bind(2, std::int64_t{query.lane.value})
        .bind(3, std::int64_t{level})
        .bind(4, from)
        .bind(5, to);
    Stored<Summary> stored;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return stored;
        auto summaries = decode<Summary>(select->blob(2));
        if (!summaries) return failure(summaries);
        stored.through[select->integer(0)] = select->integer(1);
        stored.summaries.insert(stored.summaries.end(), summaries->begin(), summaries->end());
    }
}

/// Items of chunks that came after what is stored of their segment.
template <class Summary, class ItemsOf>
Result<void> addUncovered(const std::vector<ChunkEntry>& chunks, const PyramidQuery& query,
                          int level, std::int64_t from, std::int64_t to, Stored<Summary>& stored,
                          ItemsOf itemsOf) {
    const bool absentIsEmpty = query.finalised && level >= columns::kFirstLevelAlwaysStored;
    const auto covers = [&](std::int64_t segment, std::int64_t chunk) {
        const auto at = stored.through.find(segment);
        if (at == stored.through.end()) return absentIsEmpty;
        return at->second >= chunk;
    };
    std::vector<Summary> added;
    for (const ChunkEntry& chunk : chunks) {
        const std::int64_t first = std::max(from, columns::segmentOf(level, chunk.first));
        const std::int64_t last = std::min(to, columns::segmentOf(level, chunk.last));
        // A chunk over this many segments is not worth the look.
        bool needed = last - first > kManySegments;
        for (std::int64_t segment = first; segment <= last && !needed; ++segment)
            needed = !covers(segment, chunk.id);
        if (!needed) continue;
        auto items = itemsOf(chunk.id);
        if (!items) return failure(items);
        for (const Summary& item : *items) {
            const std::int64_t segment = columns::segmentOf(level, item.time());
            if (segment < from || segment > to || covers(segment, chunk.id)) continue;
            const bool alone = columns::standsAlone(item, level);
            if (alone ? columns::belongsTo(item, level) : level == query.level)
                added.push_back(item);
        }
    }
    stored.summaries.insert(stored.summaries.end(), added.begin(), added.end());
    return {};
}

/// Adds what `level` contributes to the query: all of it on the query's own level, only lone
/// spans of the ones above.
template <class Summary, class ItemsOf>
Result<void> addLevel(Connection& connection, const std::vector<ChunkEntry>& chunks,
                      const PyramidQuery& query, int level, std::vector<Summary>& found,
                      ItemsOf itemsOf) {
    // A span that starts before the range can still reach into it; on the top level from any time.
    const std::int64_t reach = std::int64_t{4} << columns::bucketShift(level);
    const bool top = level + 1 == columns::kPyramidLevels;
    const std::int64_t from = top ? std::numeric_limits<std::int32_t>::min()
                                  : columns::segmentOf(level, {query.range.begin.ns - reach});
    const std::int64_t to = columns::segmentOf(level, query.range.end);
    auto stored = loadLevel<Summary>(connection, query, level, from, to);
    if (!stored) return failure(stored);
    auto done = addUncovered(chunks, query, level, from, to, *stored, itemsOf);
    if (!done) return done;
    for (const Summary& summary : stored->summaries)
        if (level == query.level || columns::standsAlone(summary, level)) found.push_back(summary);
    return {};
}

template <class Summary>
void sortByTime(std::vector<Summary>& summaries) {
    std::stable_sort(summaries.begin(), summaries.end(),
                     [](const Summary& a, const Summary& b) { return a.time() < b.time(); });
}

}  // namespace

template <class Summary>
Result<std::vector<Summary>> loadSegment(Connection& connection, RankId rank, LaneId lane,
                                         int level, std::int64_t segment) {
    auto stored =
        loadLevel<Summary>(connection, {rank, lane, {}, level, false}, level, segment, segment);
    if (!stored) return failure(stored);
    return std::move(stored->summaries);
}

template Result<std::vector<SpanSummary>> loadSegment(Connection&, RankId, LaneId, int,
                                                      std::int64_t);
template Result<std::vector<CounterSummary>> loadSegment(Connection&, RankId, LaneId, int,
                                                         std::int64_t);

Result<std::vector<SpanSummary>> spanSummaries(Connection& connection, EventSource& events,
                                               const PyramidQuery& query) {
    const auto& chunks = events.directory().chunks(EventKind::kSpan, query.rank, query.lane);
    const auto itemsOf = [&](std::int64_t id) -> Result<std::vector<SpanSummary>> {
        auto spans = events.spanChunk(connection, id);
        if (!spans) return failure(spans);
        std::vector<SpanSummary> items;
        for (const SpanEvent& span : **spans) items.push_back(SpanSummary::of(span));
        return items;
    };
    std::vector<SpanSummary> found;
    for (int level = query.level; level < columns::kPyramidLevels; ++level) {
        auto done = addLevel(connection, chunks, query, level, found, itemsOf);
        if (!done) return failure(done);
    }
    std::erase_if(found, [&](const SpanSummary& s) {
        return s.first >= query.range.end ||
               (s.last <= query.range.begin && s.first < query.range.begin);
    });
    sortByTime(found);
    return found;
}

Result<std::vector<CounterSummary>> counterSummaries(Connection& connection, EventSource& events,
                                                     const PyramidQuery& query) {
    const auto itemsOf = [&](std::int64_t id) -> Result<std::vector<CounterSummary>> {
        auto samples = events.chunkSamples(connection, query.lane, id);
        if (!samples) return failure(samples);
        std::vector<CounterSummary> items;
        for (const CounterEvent& sample : *samples) items.push_back(CounterSummary::of(sample));
        return items;
    };
    std::vector<CounterSummary> found;
    auto done = addLevel(connection, events.sampleChunks(query.rank, query.lane), query,
                         query.level, found, itemsOf);
    if (!done) return failure(done);
    std::erase_if(found, [&](const CounterSummary& s) {
        return s.first >= query.range.end || s.last < query.range.begin;
    });
    sortByTime(found);
    return found;
}

}  // namespace shardscope::storage
