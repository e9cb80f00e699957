#include "app/desktop/loading/recording_queries.h"

#include "app/desktop/loading/memory_columns.h"
#include "app/desktop/loading/range_table.h"
#include "app/desktop/models/device_slice.h"
#include "app/desktop/models/memory_model.h"

#include <algorithm>
#include <tuple>

namespace shardscope::desktop {
namespace {

constexpr int kDensityBuckets = 1200;

Error cancelled() {
    return {ErrorCode::kCancelled, "superseded by a newer request"};
}

const LaneFacts* findLane(const RecordingSummary& summary, LaneKey key) {
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank == key.rank && lane.lane == key.lane) return &lane;
    }
    return nullptr;
}

QString textOf(storage::RecordingReader& reader, RankId rank, StringId id) {
    const std::string_view text = reader.text(rank, id);
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// Joins a communication slice with its collective: what it was and how long it waited.
void addCollective(const OpenRecording& recording, RankId rank, SliceView& slice) {
    if (slice.count != 1) return;
    const CollectiveEvent* event = recording.collective(rank, slice.correlation);
    if (event == nullptr) return;
    slice.operation = event->operation;
    slice.layer = event->layer;
    slice.waitedUntil = event->lastArrival();
}

std::optional<CollectiveOp> operationNamed(const QString& name) {
    for (CollectiveOp op :
         {CollectiveOp::kAllGather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce,
          CollectiveOp::kBroadcast, CollectiveOp::kBarrier}) {
        if (name == QLatin1String(toWord(op))) return op;
    }
    return std::nullopt;
}

SliceView viewOf(storage::RecordingReader& reader, const OpenRecording& recording,
                 const LaneFacts& lane, const storage::LaneSlice& slice) {
    SliceView view;
    view.range = slice.range;
    view.name = textOf(reader, lane.rank, slice.name);
    view.arguments = textOf(reader, lane.rank, slice.arguments);
    view.count = slice.count;
    view.busy = slice.busy;
    view.correlation = slice.correlation;
    view.layer = slice.layer;
    view.step = slice.step;
    view.phase = slice.phase;
    view.depth = slice.depth;
    view.waitedUntil = slice.range.begin;
    view.onDevice = isStreamLane(lane.lane);
    if (view.onDevice) {
        view.operation = collectiveOfKernel(view.name);
    } else if (lane.role == LaneRole::kCommunication) {
        view.operation = operationNamed(view.name);
        addCollective(recording, lane.rank, view);
    }
    return view;
}

SliceView viewOf(storage::RecordingReader& reader, const OpenRecording& recording,
                 const LaneFacts& lane, const SpanEvent& span) {
    storage::LaneSlice slice;
    slice.range = span.range();
    slice.name = span.name;
    slice.busy = span.duration;
    slice.correlation = span.correlation;
    slice.layer = span.layer;
    slice.step = span.step;
    slice.phase = span.phase;
    slice.depth = span.depth;
    slice.arguments = span.arguments;
    return viewOf(reader, recording, lane, slice);
}

Result<LaneFrame> loadLane(storage::RecordingReader& reader, const OpenRecording& recording,
                           const LaneFacts& lane, const TimelineQuery& query) {
    LaneFrame frame;
    frame.key = {lane.rank, lane.lane};
    frame.role = lane.role;
    if (lane.role == LaneRole::kCounter) {
        const auto points = reader.counter(lane.rank, lane.lane, query.range, query.resolution);
        if (!points) return failure(points);
        for (const auto& point : *points) {
            frame.points.push_back({point.range, point.minimum, point.maximum, point.last});
        }
        return frame;
    }
    const auto slices = reader.slices(lane.rank, lane.lane, query.range, query.resolution);
    if (!slices) return failure(slices);
    frame.slices.reserve(slices->size());
    for (const auto& slice : *slices)
        frame.slices.push_back(viewOf(reader, recording, lane, slice));
    return frame;
}

}  // namespace

Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path) {
    auto loaded = std::make_shared<OpenRecording>();
    loaded->path = path;
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    loaded->summary = std::move(*summary);
    for (const RankFacts& rank : loaded->summary.ranks) {
        auto events = reader.rankEvents(rank.rank, loaded->summary.bounds);
        if (!events) return failure(events);
        loaded->ranks.push_back(std::move(*events));
    }
    loaded->report = analysis::analyse(loaded->summary, loaded->ranks);
    loaded->density = runDensity(loaded->ranks, loaded->summary.bounds, kDensityBuckets);
    return RecordingPtr(std::move(loaded));
}

Result<TimelineFramePtr> loadTimeline(storage::RecordingReader& reader,
                                      const OpenRecording& recording, const TimelineQuery& query,
                                      const std::stop_token& stop) {
    auto frame = std::make_shared<TimelineFrame>();
    frame->query = query;
    for (const LaneKey& key : query.lanes) {
        if (stop.stop_requested()) return tl::unexpected(cancelled());
        const LaneFacts* lane = findLane(recording.summary, key);
        if (lane == nullptr) continue;
        auto loaded = loadLane(reader, recording, *lane, query);
        if (!loaded) return failure(loaded);
        frame->lanes.push_back(std::move(*loaded));
    }
    return TimelineFramePtr(std::move(frame));
}

namespace {

/// From a launch to the end of what it started; what lies further apart is not looked for, so
/// that an unmatched correlation does not read the whole run.
constexpr Duration kLongestFlight{16'000'000'000};

/// A launch is on a host's lane and what it starts on a stream's, or the other way round.
bool canLink(LaneId from, const LaneFacts& lane) {
    return isTraced(lane.lane) && lane.role != LaneRole::kCommunication && lane.lane != from &&
           !(isStreamLane(from) && isStreamLane(lane.lane));
}

}  // namespace

Result<std::vector<LinkedSlice>> loadLinks(storage::RecordingReader& reader,
                                           const OpenRecording& recording, const LinkQuery& query,
                                           const std::stop_token& stop) {
    std::vector<LinkedSlice> links;
    const TimeRange bounds = recording.bounds();
    for (Duration reach{1'000'000};
         links.empty() && reach <= kLongestFlight && !stop.stop_requested();
         reach = {reach.ns * 8}) {
        const TimeRange window{query.from.begin - reach, query.from.end + reach};
        for (const LaneFacts& lane : recording.summary.lanes) {
            if (lane.rank != query.key.rank || !canLink(query.key.lane, lane)) continue;
            const auto spans = reader.spans(lane.rank, lane.lane, window.intersection(bounds));
            if (!spans) return failure(spans);
            for (const SpanEvent& span : *spans) {
                if (span.correlation != query.correlation) continue;
                links.push_back({{lane.rank, lane.lane}, viewOf(reader, recording, lane, span)});
            }
        }
        if (window.begin <= bounds.begin && window.end >= bounds.end) break;
    }
    // what ran on the device first: it is what a call is asked about
    std::stable_sort(links.begin(), links.end(), [](const LinkedSlice& a, const LinkedSlice& b) {
        return std::tuple(!a.slice.onDevice, a.slice.range.begin) <
               std::tuple(!b.slice.onDevice, b.slice.range.begin);
    });
    return links;
}

Result<RangeTablePtr> loadRangeTable(storage::RecordingReader& reader,
                                     const OpenRecording& recording, TimeRange range,
                                     const std::vector<RankId>& ranks,
                                     const std::stop_token& stop) {
    RangeAggregation aggregation(range);
    for (const LaneFacts& lane : recording.summary.lanes) {
        const bool shown =
            ranks.empty() || std::find(ranks.begin(), ranks.end(), lane.rank) != ranks.end();
        if (!shown || lane.role == LaneRole::kCounter || lane.role == LaneRole::kRange) continue;
        if (stop.stop_requested()) return tl::unexpected(cancelled());
        const auto spans = reader.spans(lane.rank, lane.lane, range);
        if (!spans) return failure(spans);
        aggregation.addLane(lane, *spans,
                            [&](StringId id) { return textOf(reader, lane.rank, id); });
    }
    return std::make_shared<const RangeTable>(aggregation.table(
        static_cast<int>(ranks.empty() ? recording.summary.ranks.size() : ranks.size())));
}

Result<MemoryFramePtr> loadMemory(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const MemoryQuery& query, const std::stop_token& stop) {
    auto frame = std::make_shared<MemoryFrame>();
    frame->query = query;
    const Duration resolution{
        std::max<std::int64_t>(1, query.range.duration().ns / std::max(1, query.columns))};
    Bytes highest;
    for (const RankEvents& events : recording.ranks) {
        const bool shown = query.ranks.empty() || std::find(query.ranks.begin(), query.ranks.end(),
                                                            events.rank) != query.ranks.end();
        if (!shown || !events.hasMemoryEvents) continue;
        MemoryColumnsBuilder builder(events.rank, query.range, query.columns);
        for (int category = 0; category < kMemoryCategoryCount; ++category) {
            if (stop.stop_requested()) return tl::unexpected(cancelled());
            const auto wanted = static_cast<MemoryCategory>(category);
            if (findLane(recording.summary, {events.rank, memoryLane(wanted)}) == nullptr) continue;
            const auto slices =
                reader.counter(events.rank, memoryLane(wanted), query.range, resolution);
            if (!slices) return failure(slices);
            builder.addCategory(wanted, *slices);
        }
        if (const LaneFacts* lane = findReservedLane(recording.summary, events.rank)) {
            const auto slices = reader.counter(events.rank, lane->lane, query.range, resolution);
            if (!slices) return failure(slices);
            builder.addReserved(*slices);
        }
        const auto total = reader.counter(events.rank, kMemoryTotalLane, query.range, resolution);
        if (!total) return failure(total);
        frame->ranks.push_back(builder.build(*total));
        if (events.peakMemory > highest) {
            highest = events.peakMemory;
            frame->peakRank = events.rank;
            frame->peakTime = events.peakTime;
        }
    }
    if (highest.count > 0 && !stop.stop_requested()) {
        const auto alive = reader.liveMemory(frame->peakRank, frame->peakTime);
        if (!alive) return failure(alive);
        frame->peakOwners =
            groupByOwner(*alive, [&](StringId id) { return textOf(reader, frame->peakRank, id); });
    }
    return MemoryFramePtr(std::move(frame));
}

Result<std::optional<SliceView>> loadNeighbour(storage::RecordingReader& reader,
                                               const OpenRecording& recording,
                                               const NeighbourQuery& query,
                                               const std::stop_token& stop) {
    const LaneFacts* lane = findLane(recording.summary, query.key);
    const TimeRange bounds = recording.bounds();
    if (lane == nullptr) return std::optional<SliceView>();
    // look close by first: a lane may hold millions of spans
    for (Duration reach{1'000'000}; !stop.stop_requested(); reach = {reach.ns * 8}) {
        const TimeRange window = query.forward
                                     ? TimeRange{query.from.begin, query.from.end + reach}
                                     : TimeRange{query.from.begin - reach, query.from.begin};
        const auto spans =
            reader.spans(query.key.rank, query.key.lane, window.intersection(bounds));
        if (!spans) return failure(spans);
        const SpanEvent* best = nullptr;
        for (const SpanEvent& span : *spans) {
            if (span.depth != query.depth) continue;
            if (query.forward && span.start > query.from.begin && best == nullptr) best = &span;
            if (!query.forward && span.start < query.from.begin) best = &span;
        }
        if (best != nullptr) return std::optional(viewOf(reader, recording, *lane, *best));
        if (window.begin <= bounds.begin && !query.forward) break;
        if (window.end >= bounds.end && query.forward) break;
    }
    return std::optional<SliceView>();
}

}  // namespace shardscope::desktop
