#include "storage/recording/pyramid_store.h"

#include "storage/recording/pyramid_rows.h"

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

constexpr std::chrono::seconds kWriteEvery{10};
/// About 25 MB over all lanes.
constexpr std::size_t kMaxSummaries = 300'000;

}  // namespace

Result<PyramidStore> PyramidStore::create(Connection& connection) {
    auto insert = connection.prepare(
        "INSERT INTO pyramid(rank, lane, level, segment, through_chunk, data) VALUES(?,?,?,?,?,?)"
        " ON CONFLICT(rank, lane, level, segment)"
        " DO UPDATE SET through_chunk=excluded.through_chunk, data=excluded.data");
    if (!insert) return failure(insert);
    return PyramidStore(connection, std::move(*insert));
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
    return pyramidOf(m_spans, rank, lane).add(items);
}

Result<void> PyramidStore::addSamples(RankId rank, LaneId lane,
                                      const std::vector<CounterEvent>& samples) {
    std::vector<CounterSummary> items;
    items.reserve(samples.size());
    for (const CounterEvent& sample : samples) items.push_back(CounterSummary::of(sample));
    return pyramidOf(m_counters, rank, lane).add(items);
}

template <class Summary>
Result<void> PyramidStore::writeLanes(Lanes<Summary>& lanes, std::int64_t throughChunk) {
    for (auto& [lane, pyramid] : lanes) {
        const auto [rank, id] = lane;
        using Key = typename columns::LanePyramid<Summary>::Key;
        auto done = pyramid.write(
            [&, rank = rank, id = id](const Key& key, const std::vector<Summary>& summaries) {
                const std::vector<std::byte> blob = columns::encodeSummaries(summaries);
                return m_insert.bind(1, std::int64_t{rank.value})
                    .bind(2, std::int64_t{id.value})
                    .bind(3, std::int64_t{key.level})
                    .bind(4, key.segment)
                    .bind(5, throughChunk)
                    .bind(6, std::span<const std::byte>(blob))
                    .run();
            });
        if (!done) return done;
    }
    return {};
}

Result<void> PyramidStore::write(Which which, std::int64_t throughChunk) {
    const auto now = std::chrono::steady_clock::now();
    if (which == Which::kDue && now - m_written < kWriteEvery) return {};
    m_written = now;
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
