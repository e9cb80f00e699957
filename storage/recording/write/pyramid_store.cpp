#include "storage/recording/write/pyramid_store.h"

#include "storage/recording/file/chunk_directory.h"

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

constexpr std::chrono::seconds kWriteEvery{10};
/// What an import adds in that time would take a gigabyte: up to 100 bytes an event.
constexpr std::size_t kMostAdded = 500'000;
/// About 25 MB over all lanes.
constexpr std::size_t kMaxSummaries = 300'000;
/// As segments are stored: noisy ones take so much.
constexpr std::int64_t kBytesASummary = 24;

}  // namespace

Result<PyramidStore> PyramidStore::create(Connection& connection) {
    auto insert = connection.prepare(
        "INSERT INTO pyramid(rank, lane, level, segment, through_chunk, data) VALUES(?,?,?,?,?,?)"
        " ON CONFLICT(rank, lane, level, segment)"
        " DO UPDATE SET through_chunk=excluded.through_chunk, data=excluded.data");
    auto remove =
        connection.prepare("DELETE FROM pyramid WHERE rank=? AND lane=? AND level=? AND segment=?");
    if (!insert || !remove) return insert ? failure(remove) : failure(insert);
    return PyramidStore(connection, std::move(*insert), std::move(*remove));
}

template <class Summary>
columns::LanePyramid<Summary>& PyramidStore::pyramidOf(Lanes<Summary>& lanes, RankId rank,
                                                       LaneId lane) {
    const auto at = lanes.find({rank, lane});
    if (at != lanes.end()) return at->second;
    using Key = typename columns::LanePyramid<Summary>::Key;
    auto load = [connection = m_connection, rank, lane](const Key& key) {
        return loadSegment<Summary>(*connection, rank, lane, key.level, key.segment);
    };
    return lanes.try_emplace({rank, lane}, std::move(load)).first->second;
}

Result<void> PyramidStore::addSpans(RankId rank, LaneId lane,
                                    const std::vector<SpanEvent>& events) {
    std::vector<SpanSummary> items;
    items.reserve(events.size());
    for (const SpanEvent& event : events) items.push_back(SpanSummary::of(event));
    m_added += items.size();
    return pyramidOf(m_spans, rank, lane).add(items);
}

Result<void> PyramidStore::addSamples(RankId rank, LaneId lane,
                                      const std::vector<CounterEvent>& samples) {
    std::vector<CounterSummary> items;
    items.reserve(samples.size());
    for (const CounterEvent& sample : samples) items.push_back(CounterSummary::of(sample));
    m_added += items.size();
    return pyramidOf(m_counters, rank, lane).add(items);
}

template <class Summary>
Result<void> PyramidStore::store(std::pair<RankId, LaneId> lane, std::int64_t throughChunk,
                                 int level, std::int64_t segment,
                                 const std::vector<Summary>& summaries) {
    const std::vector<std::byte> blob = columns::encodeSummaries(summaries);
    return m_insert.bind(1, std::int64_t{lane.first.value})
        .bind(2, std::int64_t{lane.second.value})
        .bind(3, std::int64_t{level})
        .bind(4, segment)
        .bind(5, throughChunk)
        .bind(6, std::span<const std::byte>(blob))
        .run();
}

template <class Summary>
Result<void> PyramidStore::writeLanes(Lanes<Summary>& lanes, std::int64_t throughChunk) {
    for (auto& [lane, pyramid] : lanes) {
        using Key = typename columns::LanePyramid<Summary>::Key;
        auto done =
            pyramid.write([&, lane = lane](const Key& key, const std::vector<Summary>& summaries) {
                return store(lane, throughChunk, key.level, key.segment, summaries);
            });
        if (!done) return done;
    }
    return {};
}

template <class Summary>
Result<void> PyramidStore::trimLane(Lanes<Summary>& lanes, std::pair<RankId, LaneId> lane,
                                    Timestamp time, std::int64_t throughChunk) {
    const auto at = lanes.find(lane);
    if (at == lanes.end()) return {};
    using Key = typename columns::LanePyramid<Summary>::Key;
    return at->second.trim(
        time,
        [&](const Key& key, const std::vector<Summary>& summaries) {
            return store(lane, throughChunk, key.level, key.segment, summaries);
        },
        [&](const Key& key) {
            return m_remove.bind(1, std::int64_t{lane.first.value})
                .bind(2, std::int64_t{lane.second.value})
                .bind(3, std::int64_t{key.level})
                .bind(4, key.segment)
                .run();
        });
}

Bytes PyramidStore::changedBytes() const {
    std::size_t summaries = 0;
    for (const auto& [lane, pyramid] : m_spans) summaries += pyramid.changedSize();
    for (const auto& [lane, pyramid] : m_counters) summaries += pyramid.changedSize();
    return {static_cast<std::int64_t>(summaries) * kBytesASummary};
}

Result<void> PyramidStore::trim(RankId rank, LaneId lane, Timestamp time,
                                std::int64_t throughChunk) {
    if (auto done = trimLane(m_spans, {rank, lane}, time, throughChunk); !done) return done;
    return trimLane(m_counters, {rank, lane}, time, throughChunk);
}

Result<void> PyramidStore::write(Which which, std::int64_t throughChunk) {
    const auto now = std::chrono::steady_clock::now();
    if (which == Which::kDue && now - m_written < kWriteEvery && m_added < kMostAdded) return {};
    m_written = now;
    m_added = 0;
    if (auto done = writeLanes(m_spans, throughChunk); !done) return done;
    if (auto done = writeLanes(m_counters, throughChunk); !done) return done;
    bound();
    return {};
}

/// Forgets what was not touched lately, more eagerly until the rest fits.
void PyramidStore::bound() {
    for (const std::uint64_t ages : {64u, 16u, 4u, 1u}) {
        std::size_t held = 0;
        for (const auto& [lane, pyramid] : m_spans) held += pyramid.size();
        for (const auto& [lane, pyramid] : m_counters) held += pyramid.size();
        if (held <= kMaxSummaries) return;
        for (auto& [lane, pyramid] : m_spans) pyramid.forget(ages);
        for (auto& [lane, pyramid] : m_counters) pyramid.forget(ages);
    }
}

}  // namespace shardscope::storage
