#include "storage/recording/read/view_loader.h"

#include "storage/recording/read/blob_loader.h"

#include <algorithm>
#include <bit>

namespace shardscope::storage {
namespace {

using columns::CounterSummary;
using columns::SpanSummary;

/// Lanes are loaded together up to this many events, so that memory stays bounded.
constexpr std::uint64_t kEventsABatch = 500'000;

LaneSlice sliceOf(const SpanSummary& s) {
    return {{s.first, s.last}, s.name, s.count, s.busy,  s.count == 1 ? s.correlation : 0,
            s.layer,           s.step, s.phase, s.depth, s.count == 1 ? s.arguments : kEmptyString};
}

/// The level that a chunk's event would be summed up on, or stand alone on, in a view of `level`.
int levelOf(const SpanEvent& event, int level) {
    if (event.duration.ns < std::int64_t{1} << columns::bucketShift(level)) return level;
    const int shift =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(event.duration.ns))) - 1;
    return std::min((shift - columns::kBaseShift) / columns::kLevelShift,
                    columns::kPyramidLevels - 1);
}
int levelOf(const CounterEvent&, int level) {
    return level;
}

Timestamp timeOf(const SpanEvent& event) {
    return event.start;
}
Timestamp timeOf(const CounterEvent& event) {
    return event.time;
}

bool isShown(const SpanEvent& event, TimeRange range) {
    return touches(event, range);
}
bool isShown(const CounterEvent& event, TimeRange range) {
    return range.contains(event.time);
}

/// Summaries out of stored segments: the level's own, and lone spans of the ones above.
template <class Summary>
std::vector<Summary> storedOf(const LanePlan& plan, const LoadedSegments& segments) {
    std::vector<Summary> found;
    for (const SegmentEntry& entry : plan.stored)
        for (const Summary& summary : segments.summaries<Summary>(entry.id))
            if (entry.level == *plan.level || columns::standsAlone(summary, entry.level))
                found.push_back(summary);
    return found;
}

/// Adds events of a chunk, by time, that no stored segment holds.
template <class Event, class Summary>
void addUncovered(const LanePlan& plan, std::int64_t chunk, const std::vector<Event>& events,
                  TimeRange range, std::vector<Summary>& found) {
    // Neighbours mostly lie in the same segment.
    int knownLevel = -1;
    std::int64_t knownSegment = 0;
    bool covered = false;
    for (const Event& event : events) {
        if (timeOf(event) >= range.end) break;
        if (!isShown(event, range)) continue;
        const int level = levelOf(event, *plan.level);
        const std::int64_t segment = columns::segmentOf(level, timeOf(event));
        if (level != knownLevel || segment != knownSegment) {
            knownLevel = level;
            knownSegment = segment;
            const auto [from, to] = segmentsOf(level, range);
            covered = segment < from || segment > to || plan.covers(level, segment, chunk);
        }
        if (!covered) found.push_back(Summary::of(event));
    }
}

template <class Summary>
void sortByTime(std::vector<Summary>& summaries) {
    sortIfNeeded(summaries, [](const Summary& a, const Summary& b) { return a.time() < b.time(); });
}

/// Calls `use` with the spans of a chunk, in their order; instants are spans without length.
template <class Use>
auto withSpans(const LanePlan& plan, const LoadedChunks& chunks, std::int64_t chunk, Use use) {
    if (plan.kind == EventKind::kInstant)
        return use(columns::asSpans(chunks.events<InstantEvent>(chunk)));
    return use(chunks.events<SpanEvent>(chunk));
}

/// Merges events straight from their chunks; false, and nothing usable, where they are not in
/// order.
bool groupInOrder(const LanePlan& plan, const LoadedChunks& chunks, TimeRange range,
                  columns::SpanGrouper& grouper) {
    Timestamp previous = range.begin - Duration{std::int64_t{1} << 62};
    const auto group = [&](const std::vector<SpanEvent>& spans) {
        for (const SpanEvent& span : spans) {
            if (span.start >= range.end) break;
            if (!touches(span, range)) continue;
            if (span.start < previous) return false;
            previous = span.start;
            grouper.add(SpanSummary::of(span));
        }
        return true;
    };
    return std::all_of(plan.chunks.begin(), plan.chunks.end(), [&](const ChunkEntry& chunk) {
        return withSpans(plan, chunks, chunk.id, group);
    });
}

std::vector<SpanSummary> eventsOf(const LanePlan& plan, const LoadedChunks& chunks,
                                  TimeRange range) {
    std::vector<SpanSummary> found;
    for (const ChunkEntry& chunk : plan.chunks)
        withSpans(plan, chunks, chunk.id, [&](const std::vector<SpanEvent>& spans) {
            for (const SpanEvent& span : spans)
                if (touches(span, range)) found.push_back(SpanSummary::of(span));
        });
    return found;
}

}  // namespace

std::vector<LaneSlice> ViewLoader::showSpans(const LanePlan& plan, const Loaded& loaded,
                                             const View& view) {
    columns::SpanGrouper grouper(cellShift(view.resolution));
    if (plan.level || !groupInOrder(plan, loaded.chunks, view.range, grouper)) {
        static_cast<void>(grouper.take());
        std::vector<SpanSummary> found;
        if (plan.level) {
            found = storedOf<SpanSummary>(plan, loaded.segments);
            std::erase_if(found, [&](const SpanSummary& s) {
                return s.first >= view.range.end ||
                       (s.last <= view.range.begin && s.first < view.range.begin);
            });
            for (const std::int64_t chunk : plan.uncovered)
                withSpans(plan, loaded.chunks, chunk, [&](const std::vector<SpanEvent>& spans) {
                    addUncovered(plan, chunk, spans, view.range, found);
                });
        } else {
            found = eventsOf(plan, loaded.chunks, view.range);
        }
        sortByTime(found);
        for (const SpanSummary& summary : found) grouper.add(summary);
    }
    const std::vector<SpanSummary> shown = grouper.take();
    std::vector<LaneSlice> slices;
    slices.reserve(shown.size());
    for (const SpanSummary& summary : shown) {
        slices.push_back(sliceOf(summary));
        slices.back().instant = plan.kind == EventKind::kInstant;
    }
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
        auto summaries = storedOf<CounterSummary>(plan, loaded.segments);
        std::erase_if(summaries, [&](const CounterSummary& s) {
            return s.first >= view.range.end || s.last < view.range.begin;
        });
        for (const std::int64_t chunk : plan.uncovered)
            addUncovered(plan, chunk, samplesOf(chunk), view.range, summaries);
        sortByTime(summaries);
        items.insert(items.end(), summaries.begin(), summaries.end());
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
        const std::size_t own = chunks.size();
        for (const ChunkEntry& chunk : plan.chunks) chunks.push_back({plan.kind, chunk.id});
        for (const std::int64_t chunk : plan.uncovered) chunks.push_back({plan.kind, chunk});
        for (const SegmentEntry& entry : plan.stored) segments.push_back({entry.id, spans});
        for (std::size_t i = own; i < chunks.size() && plan.kind == EventKind::kMemory; ++i) {
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
            events += plan->events;
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
