#include "app/desktop/pages/timeline/timeline_query.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/details/collectives.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/pages/timeline/tables/range_table.h"
#include "storage/model/flow_words.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace shardscope::desktop {
namespace {

Error superseded() {
    return {ErrorCode::kCancelled, "superseded by a newer request"};
}

SliceView viewOf(storage::RecordingReader& reader, const LaneFacts& lane,
                 const storage::LaneSlice& slice) {
    SliceView view;
    view.range = slice.range;
    view.name = fromUtf8(reader.text(lane.rank, slice.name));
    view.arguments = fromUtf8(reader.text(lane.rank, slice.arguments));
    view.count = slice.count;
    view.busy = slice.busy;
    view.correlation = slice.correlation;
    view.layer = slice.layer;
    view.step = slice.step;
    view.phase = slice.phase;
    view.depth = slice.depth;
    view.waitedUntil = slice.range.begin;
    view.instant = slice.instant;
    view.onDevice = isStreamLane(lane.lane);
    if (view.onDevice) {
        view.operation = collectiveOfKernel(view.name);
    } else if (lane.role == LaneRole::kCommunication) {
        view.operation = fromWord<CollectiveOp>(view.name.toStdString());
    }
    return view;
}

/// Of a collective also what it was and how long it waited, where it can be read.
SliceView viewOf(storage::RecordingReader& reader, const LaneFacts& lane, const SpanEvent& span) {
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
    std::vector<SliceView> views{viewOf(reader, lane, slice)};
    // what cannot be read is not said; the span itself was
    static_cast<void>(joinCollectives(reader, lane, views).has_value());
    return std::move(views.front());
}

void fillPoints(const std::vector<storage::CounterSlice>& points, LaneFrame& frame) {
    for (const storage::CounterSlice& point : points)
        frame.points.push_back({point.range, point.minimum, point.maximum, point.last});
}

Result<void> fillSlices(storage::RecordingReader& reader, const LaneFacts& lane,
                        const std::vector<storage::LaneSlice>& slices, LaneFrame& frame) {
    frame.slices.reserve(slices.size());
    for (const storage::LaneSlice& slice : slices)
        frame.slices.push_back(viewOf(reader, lane, slice));
    return joinCollectives(reader, lane, frame.slices);
}

}  // namespace

Result<TimelineFramePtr> loadTimeline(storage::RecordingReader& reader,
                                      const OpenRecording& recording, const TimelineQuery& query,
                                      const storage::Generation& generation) {
    std::vector<const LaneFacts*> lanes;
    std::vector<LaneAddress> ofSpans;
    std::vector<LaneAddress> ofCounters;
    for (const LaneAddress& key : query.lanes) {
        const LaneFacts* lane = recording.lane(key);
        if (lane == nullptr) continue;
        lanes.push_back(lane);
        (lane->role == LaneRole::kCounter ? ofCounters : ofSpans).push_back({key.rank, key.lane});
    }
    const storage::View view{query.range, query.resolution, generation};
    const auto slices = reader.spans(ofSpans, view);
    if (!slices) return failure(slices);
    const auto points = reader.counters(ofCounters, view);
    if (!points) return failure(points);
    auto frame = std::make_shared<TimelineFrame>();
    frame->query = query;
    auto nextSlices = slices->begin();
    auto nextPoints = points->begin();
    for (const LaneFacts* lane : lanes) {
        if (generation.superseded()) return tl::unexpected(superseded());
        LaneFrame& shown = frame->lanes.emplace_back();
        shown.key = {lane->rank, lane->lane};
        shown.role = lane->role;
        if (lane->role == LaneRole::kCounter)
            fillPoints(*nextPoints++, shown);
        else if (auto filled = fillSlices(reader, *lane, *nextSlices++, shown); !filled)
            return failure(filled);
    }
    nestTracks(*frame);
    return TimelineFramePtr(std::move(frame));
}

namespace {

/// From a launch to the end of what it started; what lies further apart is not looked for, so
/// that an unmatched correlation does not read the whole run.
constexpr Duration kLongestFlight{16'000'000'000};

/// Between an operator and its backward.
constexpr Duration kLongestStep{4'000'000'000};
/// By which ranks begin a collective apart.
constexpr Duration kLongestSkew{1'000'000'000};

/// A launch is on a host's lane and what it starts on a stream's, or the other way round.
bool canLink(LaneId from, const LaneFacts& lane) {
    return isTracedLane(lane.lane) && lane.role != LaneRole::kCommunication && lane.lane != from &&
           !(isStreamLane(from) && isStreamLane(lane.lane));
}

bool isOperatorLane(LaneId lane) {
    return lane == lanes::kOperators.id || lanes::kMoreOperators.contains(lane);
}

/// An operator of our own recordings has its autograd sequence number; so has its backward.
Result<void> addBackward(storage::RecordingReader& reader, const OpenRecording& recording,
                         const LinkQuery& query, const storage::Generation& generation,
                         std::vector<LinkedSlice>& links) {
    const TimeRange bounds = recording.bounds();
    for (Duration reach{1'000'000};
         links.empty() && reach <= kLongestStep && !generation.superseded();
         reach = {reach.ns * 8}) {
        const TimeRange window{query.from.begin - reach, query.from.end + reach};
        for (const LaneFacts& lane : recording.summary.lanes) {
            if (lane.rank != query.key.rank || !isOperatorLane(lane.lane)) continue;
            const auto spans = reader.spans(lane.rank, lane.lane, window.intersection(bounds));
            if (!spans) return failure(spans);
            for (const SpanEvent& span : *spans) {
                // what it is nested in or made of has the number too
                const bool other =
                    span.correlation == query.correlation && !span.range().intersects(query.from);
                if (!other) continue;
                links.push_back({{lane.rank, lane.lane},
                                 viewOf(reader, lane, span),
                                 false,
                                 LinkKind::kBackward});
            }
        }
        if (window.begin <= bounds.begin && window.end >= bounds.end) break;
    }
    return {};
}

/// The same collective on the other ranks of its group.
Result<void> addPeers(storage::RecordingReader& reader, const OpenRecording& recording,
                      const LinkQuery& query, const storage::Generation& generation,
                      std::vector<LinkedSlice>& links) {
    for (const LaneFacts& lane : recording.summary.lanes) {
        const bool peer = lane.rank != query.key.rank && lane.lane == query.key.lane &&
                          lane.role == LaneRole::kCommunication;
        if (!peer || generation.superseded()) continue;
        const TimeRange window{query.from.begin - kLongestSkew, query.from.end + kLongestSkew};
        const auto spans = reader.spans(lane.rank, lane.lane, window);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans)
            if (span.depth == query.depth && span.correlation == query.correlation)
                links.push_back(
                    {{lane.rank, lane.lane}, viewOf(reader, lane, span), false, LinkKind::kPeer});
    }
    return {};
}

/// Adds the other spans that arrows of the query's span touch, each once.
Result<void> addArrows(storage::RecordingReader& reader, const OpenRecording& recording,
                       const LinkQuery& query, std::vector<LinkedSlice>& links) {
    if (recording.summary.events.flows == 0) return {};
    const auto arrows =
        reader.arrowsOf(query.key.rank, query.key.lane, query.from.begin, query.depth);
    if (!arrows) return failure(arrows);
    const auto isAt = [](const LinkedSlice& link, LaneAddress key, Timestamp start, int depth) {
        return link.key == key && link.slice.range.begin == start && link.slice.depth == depth;
    };
    for (const storage::FlowArrow& arrow : *arrows) {
        for (const FlowEvent& point : arrow) {
            const bool backward =
                reader.text(query.key.rank, point.category) == flow_words::kForwardBackward;
            const LaneAddress key{query.key.rank, point.lane};
            const LaneFacts* lane = recording.lane(key);
            const bool own = key == query.key && point.spanStart == query.from.begin &&
                             point.depth == query.depth;
            if (!point.bound || own || lane == nullptr) continue;
            const auto known =
                std::find_if(links.begin(), links.end(), [&](const LinkedSlice& link) {
                    return isAt(link, key, point.spanStart, point.depth);
                });
            if (known != links.end()) continue;
            const auto spans =
                reader.spans(key.rank, key.lane, {point.spanStart, point.spanStart + Duration{1}});
            if (!spans) return failure(spans);
            for (const SpanEvent& span : *spans)
                if (span.start == point.spanStart && span.depth == point.depth)
                    links.push_back({key, viewOf(reader, *lane, span), true,
                                     backward ? LinkKind::kBackward : LinkKind::kArrow});
        }
    }
    return {};
}

/// Of kernels, copies, calls and waits.
Result<std::vector<LinkedSlice>> correlatedSlices(storage::RecordingReader& reader,
                                                  const OpenRecording& recording,
                                                  const LinkQuery& query,
                                                  const storage::Generation& generation) {
    std::vector<LinkedSlice> links;
    const TimeRange bounds = recording.bounds();
    for (Duration reach{1'000'000};
         links.empty() && reach <= kLongestFlight && !generation.superseded();
         reach = {reach.ns * 8}) {
        const TimeRange window{query.from.begin - reach, query.from.end + reach};
        for (const LaneFacts& lane : recording.summary.lanes) {
            if (lane.rank != query.key.rank || !canLink(query.key.lane, lane)) continue;
            const auto spans = reader.spans(lane.rank, lane.lane, window.intersection(bounds));
            if (!spans) return failure(spans);
            for (const SpanEvent& span : *spans) {
                if (span.correlation != query.correlation) continue;
                links.push_back({{lane.rank, lane.lane}, viewOf(reader, lane, span), false});
            }
        }
        if (window.begin <= bounds.begin && window.end >= bounds.end) break;
    }
    return links;
}

}  // namespace

Result<std::vector<LinkedSlice>> loadLinks(storage::RecordingReader& reader,
                                           const OpenRecording& recording, const LinkQuery& query,
                                           const storage::Generation& generation) {
    std::vector<LinkedSlice> links;
    if (isTracedLane(query.key.lane) && query.correlation != 0) {
        auto found = correlatedSlices(reader, recording, query, generation);
        if (!found) return found;
        links = std::move(*found);
    }
    const LaneFacts* own = recording.lane(query.key);
    if (own != nullptr && query.correlation != 0 && !recording.isTrace()) {
        if (isOperatorLane(own->lane))
            if (auto added = addBackward(reader, recording, query, generation, links); !added)
                return failure(added);
        if (own->role == LaneRole::kCommunication && !isStreamLane(own->lane))
            if (auto added = addPeers(reader, recording, query, generation, links); !added)
                return failure(added);
    }
    if (auto added = addArrows(reader, recording, query, links); !added) return failure(added);
    // what ran on the device first: it is what a call is asked about
    std::stable_sort(links.begin(), links.end(), [](const LinkedSlice& a, const LinkedSlice& b) {
        return std::tuple(!a.slice.onDevice, a.slice.range.begin) <
               std::tuple(!b.slice.onDevice, b.slice.range.begin);
    });
    return links;
}

namespace {

/// Spans that are read of a lane at a time, about: all of a long run would not fit.
constexpr double kSpansAtATime = 60'000;

Result<void> addToTable(storage::RecordingReader& reader, const OpenRecording& recording,
                        const LaneFacts& lane, TimeRange range,
                        const storage::Generation& generation, RangeAggregation& aggregation) {
    const auto whole =
        static_cast<double>(std::max<std::int64_t>(1, recording.bounds().duration().ns));
    const double expected = static_cast<double>(recording.summary.events.spans) *
                            static_cast<double>(range.duration().ns) / whole;
    const auto parts =
        static_cast<std::int64_t>(std::max(1.0, std::ceil(expected / kSpansAtATime)));
    aggregation.beginLane(lane);
    for (std::int64_t part = 0; part < parts; ++part) {
        if (generation.superseded()) return tl::unexpected(superseded());
        const auto at = [&](std::int64_t place) {
            return range.begin + Duration{range.duration().ns / parts * place};
        };
        const TimeRange window{at(part), part + 1 == parts ? range.end : at(part + 1)};
        auto spans = reader.spans(lane.rank, lane.lane, window);
        if (!spans) return failure(spans);
        // those that reach in from before were in the window before
        if (part > 0)
            std::erase_if(*spans, [&](const SpanEvent& span) { return span.start < window.begin; });
        aggregation.add(*spans, [&](StringId id) { return fromUtf8(reader.text(lane.rank, id)); });
    }
    return {};
}

}  // namespace

Result<RangeTablePtr> loadRangeTable(storage::RecordingReader& reader,
                                     const OpenRecording& recording, const RangeTableQuery& query,
                                     const storage::Generation& generation) {
    RangeAggregation aggregation(query.range, query.kind, query.steps);
    const auto& ranks = query.ranks;
    for (const LaneFacts& lane : recording.summary.lanes) {
        const bool shown =
            ranks.empty() || std::find(ranks.begin(), ranks.end(), lane.rank) != ranks.end();
        if (!shown || !mayHold(lane, query.kind)) continue;
        if (auto added = addToTable(reader, recording, lane, query.range, generation, aggregation);
            !added)
            return failure(added);
    }
    RangeTable table = aggregation.table(
        static_cast<int>(ranks.empty() ? recording.summary.ranks.size() : ranks.size()));
    for (RangeRow& row : table.rows) {
        auto longest = loadSlice(reader, recording, row.where, row.span);
        if (!longest) return failure(longest);
        row.longest = std::move(*longest);
    }
    return std::make_shared<const RangeTable>(std::move(table));
}

Result<SliceView> loadSlice(storage::RecordingReader& reader, const OpenRecording& recording,
                            LaneAddress key, const SpanEvent& span) {
    const LaneFacts* lane = recording.lane(key);
    if (lane == nullptr) return failure(ErrorCode::kFailure, "there is no such lane");
    return viewOf(reader, *lane, span);
}

Result<std::optional<FoundSlice>> findLongest(storage::RecordingReader& reader,
                                              const OpenRecording& recording, TimeRange range,
                                              std::optional<RankId> rank) {
    Duration longest;
    std::optional<FoundSlice> found;
    for (const LaneFacts& lane : recording.summary.lanes) {
        if (lane.role != LaneRole::kCompute || (rank && lane.rank != *rank)) continue;
        const auto spans = reader.spans(lane.rank, lane.lane, range);
        if (!spans) return failure(spans);
        const SpanEvent* best = nullptr;
        for (const SpanEvent& span : *spans) {
            const Duration within = span.range().intersection(range).duration();
            if (within <= longest) continue;
            longest = within;
            best = &span;
        }
        if (best != nullptr)
            found = FoundSlice{{lane.rank, lane.lane}, viewOf(reader, lane, *best)};
    }
    return found;
}

Result<std::optional<SliceView>> loadNeighbour(storage::RecordingReader& reader,
                                               const OpenRecording& recording,
                                               const NeighbourQuery& query,
                                               const storage::Generation& generation) {
    const LaneFacts* lane = recording.lane(query.key);
    const TimeRange bounds = recording.bounds();
    if (lane == nullptr) return std::optional<SliceView>();
    // look close by first: a lane may hold millions of spans
    for (Duration reach{1'000'000}; !generation.superseded(); reach = {reach.ns * 8}) {
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
        if (best != nullptr) return std::optional(viewOf(reader, *lane, *best));
        if (window.begin <= bounds.begin && !query.forward) break;
        if (window.end >= bounds.end && query.forward) break;
    }
    return std::optional<SliceView>();
}

}  // namespace shardscope::desktop
