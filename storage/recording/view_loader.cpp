#include "storage/recording/view_loader.h"

#include "storage/recording/blob_loader.h"

#include <algorithm>

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

/// Lanes are loaded together up to this many events, so that memory stays bounded.
constexpr std::uint64_t kEventsABatch = 1'000'000;

LaneSlice sliceOf(const SpanSummary& s) {
    return {{s.first, s.last}, s.name, s.count, s.busy,  s.count == 1 ? s.correlation : 0,
            s.layer,           s.step, s.phase, s.depth, s.count == 1 ? s.arguments : kEmptyString};
}

/// What the plan's level shows: its own summaries, lone spans of the ones above, and likewise what
/// of chunks is not stored yet. `itemsOf(chunk)` gives a chunk's events as summaries.
template <class Summary, class ItemsOf>
std::vector<Summary> summariesOf(const LanePlan& plan, const LoadedSegments& segments,
                                 TimeRange range, ItemsOf itemsOf) {
    std::vector<Summary> found;
    for (const SegmentEntry& entry : plan.stored)
        for (const Summary& summary : segments.summaries<Summary>(entry.id))
            if (entry.level == *plan.level || columns::standsAlone(summary, entry.level))
                found.push_back(summary);
    for (const LanePlan::Uncovered& part : plan.uncovered) {
        const auto [from, to] = segmentsOf(part.level, range);
        itemsOf(part.chunk, [&, from = from, to = to](const Summary& item) {
            const std::int64_t segment = columns::segmentOf(part.level, item.time());
            if (segment < from || segment > to || plan.covers(part.level, segment, part.chunk))
                return;
            const bool alone = columns::standsAlone(item, part.level);
            if (alone ? columns::belongsTo(item, part.level) : part.level == *plan.level)
                found.push_back(item);
        });
    }
    return found;
}

template <class Summary>
void sortByTime(std::vector<Summary>& summaries) {
    sortIfNeeded(summaries, [](const Summary& a, const Summary& b) { return a.time() < b.time(); });
}

std::vector<SpanSummary> eventsOf(const LanePlan& plan, const LoadedChunks& chunks,
                                  TimeRange range) {
    std::vector<SpanSummary> found;
    for (const ChunkEntry& chunk : plan.chunks) {
        for (const SpanEvent& span : chunks.events<SpanEvent>(chunk.id)) {
            if (span.start >= range.end) break;
            if (touches(span, range)) found.push_back(SpanSummary::of(span));
        }
    }
    return found;
}

}  // namespace

std::vector<LaneSlice> ViewLoader::showSpans(const LanePlan& plan, const Loaded& loaded,
                                             const View& view) {
    std::vector<SpanSummary> found;
    if (plan.level) {
        found = summariesOf<SpanSummary>(
            plan, loaded.segments, view.range, [&](std::int64_t chunk, const auto& use) {
                for (const SpanEvent& span : loaded.chunks.events<SpanEvent>(chunk))
                    use(SpanSummary::of(span));
            });
        std::erase_if(found, [&](const SpanSummary& s) {
            return s.first >= view.range.end ||
                   (s.last <= view.range.begin && s.first < view.range.begin);
        });
    } else {
        found = eventsOf(plan, loaded.chunks, view.range);
    }
    sortByTime(found);
    columns::SpanGrouper grouper(cellShift(view.resolution));
    for (const SpanSummary& summary : found) grouper.add(summary);
    std::vector<LaneSlice> slices;
    for (const SpanSummary& summary : grouper.take()) slices.push_back(sliceOf(summary));
    return slices;
}

std::vector<CounterSlice> ViewLoader::showSamples(const LanePlan& plan, const Loaded& loaded,
                                                  const View& view) {
    const LaneId lane = plan.lane.lane;
    const auto samplesOf = [&](std::int64_t chunk) {
        return isMemoryLane(lane) ? laneSamples(MemoryTally::startingAt(loaded.before.at(chunk)),
                                                lane, loaded.chunks.events<MemoryEvent>(chunk))
                                  : loaded.chunks.events<CounterEvent>(chunk);
    };
    SampleCollector samples(plan.level ? TimeRange{view.range.begin, view.range.begin}
                                       : view.range);
    for (const ChunkEntry& chunk : plan.chunks) samples.add(samplesOf(chunk.id));
    std::vector<CounterSummary> items;
    for (const CounterEvent& sample : samples.take()) items.push_back(CounterSummary::of(sample));
    if (plan.level) {
        auto summaries = summariesOf<CounterSummary>(
            plan, loaded.segments, view.range, [&](std::int64_t chunk, const auto& use) {
                for (const CounterEvent& sample : samplesOf(chunk)) use(CounterSummary::of(sample));
            });
        sortByTime(summaries);
        for (const CounterSummary& s : summaries)
            if (s.first < view.range.end && s.last >= view.range.begin) items.push_back(s);
    }
    const int shift = cellShift(view.resolution);
    std::vector<CounterSummary> cells;
    for (CounterSummary& item : items) {
        item.first = std::max(item.first, view.range.begin);
        item.last = std::max(item.last, item.first);
        if (!cells.empty() && cells.back().first.ns >> shift == item.first.ns >> shift)
            cells.back().merge(item);
        else
            cells.push_back(item);
    }
    std::vector<CounterSlice> slices;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Timestamp end = i + 1 < cells.size() ? cells[i + 1].first : view.range.end;
        slices.push_back(
            {{cells[i].first, end}, cells[i].minimum, cells[i].maximum, cells[i].latest});
    }
    return slices;
}

Result<ViewLoader::Loaded> ViewLoader::load(const std::vector<LanePlan>& plans, bool spans,
                                            const Generation& generation) {
    std::vector<EventSource::Wanted> chunks;
    std::vector<PyramidSource::Wanted> segments;
    Loaded loaded;
    for (const LanePlan& plan : plans) {
        const EventKind kind = spans ? EventKind::kSpan : sampleKind(plan.lane.lane);
        const std::size_t own = chunks.size();
        for (const ChunkEntry& chunk : plan.chunks) chunks.push_back({kind, chunk.id});
        for (const LanePlan::Uncovered& part : plan.uncovered) chunks.push_back({kind, part.chunk});
        for (const SegmentEntry& entry : plan.stored) segments.push_back({entry.id, spans});
        for (std::size_t i = own; i < chunks.size() && kind == EventKind::kMemory; ++i) {
            auto [before, isNew] = loaded.before.try_emplace(chunks[i].id);
            if (!isNew) continue;
            auto state = m_events.memoryBefore(m_connection, chunks[i].id);
            if (!state) return failure(state);
            before->second = *state;
        }
    }
    auto done =
        m_pyramid.load(m_connection, m_events.pool(), segments, generation, loaded.segments);
    if (done) done = m_events.load(m_connection, chunks, generation, loaded.chunks);
    if (!done) return failure(done);
    return loaded;
}

template <class Slice, class PlanLane, class ShowLane>
Result<std::vector<std::vector<Slice>>> ViewLoader::each(const std::vector<LaneAddress>& lanes,
                                                         const View& view, PlanLane planLane,
                                                         ShowLane show) {
    constexpr bool kSpans = std::is_same_v<Slice, LaneSlice>;
    const PlanContext context{m_connection, m_events, m_pyramid, m_finalised};
    std::vector<std::vector<Slice>> slices(lanes.size());
    for (std::size_t at = 0; at < lanes.size();) {
        std::vector<LanePlan> plans;
        const std::size_t first = at;
        for (std::uint64_t events = 0; at < lanes.size() && events < kEventsABatch; ++at) {
            if (view.generation.superseded()) return superseded();
            auto plan = planLane(context, lanes[at], view);
            if (!plan) return failure(plan);
            events += plan->events();
            plans.push_back(std::move(*plan));
        }
        auto loaded = load(plans, kSpans, view.generation);
        if (!loaded) return failure(loaded);
        const WorkerPool::Drain drain(m_events.pool());
        for (std::size_t i = 0; i < plans.size(); ++i)
            m_events.pool().submit([&, i] {
                if (!view.generation.superseded())
                    slices[first + i] = show(plans[i], *loaded, view);
            });
        m_events.pool().wait();
        if (view.generation.superseded()) return superseded();
    }
    return slices;
}

Result<std::vector<std::vector<LaneSlice>>> ViewLoader::spans(const std::vector<LaneAddress>& lanes,
                                                              const View& view) {
    return each<LaneSlice>(lanes, view, planSpans, showSpans);
}

Result<std::vector<std::vector<CounterSlice>>> ViewLoader::counters(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return each<CounterSlice>(lanes, view, planSamples, showSamples);
}

}  // namespace shardscope::storage
