#include "storage/columns/summary.h"
#include "storage/recording/local_reader.h"
#include "storage/recording/pyramid_rows.h"

#include <bit>

namespace shardscope::storage {
namespace {

/// Cells of the largest power of two that is no wider than a pixel.
int cellShift(Duration resolution) {
    if (resolution.ns <= 1) return 0;
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(resolution.ns))) - 1;
}

/// Up to here decoding the events themselves is as fast as anything, and exact.
constexpr std::uint64_t kExactLimit = 50'000;

/// What can hold events: level arithmetic beyond it could overflow.
TimeRange sensible(TimeRange range) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 61;
    return range.intersection({{-kLimit}, {kLimit}});
}

std::uint64_t eventsWithin(const std::vector<ChunkEntry>& chunks, TimeRange range) {
    std::uint64_t count = 0;
    for (const ChunkEntry& chunk : chunks)
        if (mayTouch(chunk, range)) count += chunk.count;
    return count;
}

/// The pyramid level whose buckets are just no wider than a pixel, if there is one and the events
/// are too many to be read one by one.
std::optional<int> levelFor(Duration resolution, std::uint64_t events) {
    if (events <= kExactLimit || resolution.ns < std::int64_t{1} << columns::kBaseShift)
        return std::nullopt;
    const int level = (cellShift(resolution) - columns::kBaseShift) / columns::kLevelShift;
    return std::min(level, columns::kPyramidLevels - 1);
}

LaneSlice sliceOf(const columns::SpanSummary& s) {
    return {{s.first, s.last}, s.name, s.count, s.busy,  s.count == 1 ? s.correlation : 0,
            s.layer,           s.step, s.phase, s.depth, s.count == 1 ? s.arguments : kEmptyString};
}

}  // namespace

Result<std::vector<LaneSlice>> LocalReader::slices(RankId rank, LaneId lane, TimeRange range,
                                                   Duration resolution) {
    Visit visit(*this);
    if (auto begun = visit.begin(); !begun) return failure(begun);
    range = sensible(range);
    const auto& chunks = m_events.directory().chunks(EventKind::kSpan, rank, lane);
    columns::SpanGrouper grouper(cellShift(resolution));
    if (const auto level = levelFor(resolution, eventsWithin(chunks, range))) {
        auto summaries =
            spanSummaries(visit.connection(), m_events, {rank, lane, range, *level, !m_growing});
        if (!summaries) return failure(summaries);
        for (const columns::SpanSummary& summary : *summaries) grouper.add(summary);
    } else {
        auto spans = m_events.spans(visit.connection(), rank, lane, range);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) grouper.add(columns::SpanSummary::of(span));
    }
    std::vector<LaneSlice> slices;
    for (const columns::SpanSummary& summary : grouper.take()) slices.push_back(sliceOf(summary));
    return slices;
}

Result<std::vector<columns::CounterSummary>> LocalReader::counterItems(Connection& connection,
                                                                       RankId rank, LaneId lane,
                                                                       TimeRange range,
                                                                       Duration resolution) {
    const std::uint64_t count = eventsWithin(m_events.sampleChunks(rank, lane), range);
    const auto level = levelFor(resolution, count);
    // From the pyramid only the value in force at the beginning is read as a sample.
    auto samples = m_events.samples(connection, rank, lane,
                                    level ? TimeRange{range.begin, range.begin} : range);
    if (!samples) return failure(samples);
    std::vector<columns::CounterSummary> items;
    for (const CounterEvent& sample : *samples)
        items.push_back(columns::CounterSummary::of(sample));
    if (level) {
        auto summaries =
            counterSummaries(connection, m_events, {rank, lane, range, *level, !m_growing});
        if (!summaries) return failure(summaries);
        items.insert(items.end(), summaries->begin(), summaries->end());
    }
    for (columns::CounterSummary& item : items) {
        item.first = std::max(item.first, range.begin);
        item.last = std::max(item.last, item.first);
    }
    return items;
}

Result<std::vector<CounterSlice>> LocalReader::counter(RankId rank, LaneId lane, TimeRange range,
                                                       Duration resolution) {
    Visit visit(*this);
    if (auto begun = visit.begin(); !begun) return failure(begun);
    range = sensible(range);
    auto items = counterItems(visit.connection(), rank, lane, range, resolution);
    if (!items) return failure(items);
    const int shift = cellShift(resolution);
    std::vector<columns::CounterSummary> cells;
    for (const columns::CounterSummary& item : *items) {
        if (!cells.empty() && cells.back().first.ns >> shift == item.first.ns >> shift)
            cells.back().merge(item);
        else
            cells.push_back(item);
    }
    std::vector<CounterSlice> slices;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Timestamp end = i + 1 < cells.size() ? cells[i + 1].first : range.end;
        slices.push_back(
            {{cells[i].first, end}, cells[i].minimum, cells[i].maximum, cells[i].latest});
    }
    return slices;
}

}  // namespace shardscope::storage
