#include "storage/columns/summary.h"
#include "storage/recording/local_reader.h"

#include <bit>

namespace shardscope::storage {
namespace {

/// Cells of the largest power of two that is no wider than a pixel.
int cellShift(Duration resolution) {
    if (resolution.ns <= 1) return 0;
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(resolution.ns))) - 1;
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
    auto spans = m_events.spans(visit.connection(), rank, lane, range);
    if (!spans) return failure(spans);
    columns::SpanGrouper grouper(cellShift(resolution));
    for (const SpanEvent& span : *spans) grouper.add(columns::SpanSummary::of(span));
    std::vector<LaneSlice> slices;
    for (const columns::SpanSummary& summary : grouper.take()) slices.push_back(sliceOf(summary));
    return slices;
}

Result<std::vector<CounterSlice>> LocalReader::counter(RankId rank, LaneId lane, TimeRange range,
                                                       Duration resolution) {
    Visit visit(*this);
    if (auto begun = visit.begin(); !begun) return failure(begun);
    auto samples = m_events.samples(visit.connection(), rank, lane, range);
    if (!samples) return failure(samples);
    const int shift = cellShift(resolution);
    std::vector<columns::CounterSummary> cells;
    for (CounterEvent sample : *samples) {
        sample.time = std::max(sample.time, range.begin);
        const auto summary = columns::CounterSummary::of(sample);
        if (!cells.empty() && cells.back().first.ns >> shift == sample.time.ns >> shift)
            cells.back().merge(summary);
        else
            cells.push_back(summary);
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
