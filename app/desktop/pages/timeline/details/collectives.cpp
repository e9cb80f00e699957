#include "app/desktop/pages/timeline/details/collectives.h"

#include "app/desktop/pages/timeline/timeline_query.h"
#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

const CollectiveEvent* find(const RankEvents& events, CollectiveKey key) {
    for (const CollectiveEvent& event : events.collectives)
        if (event.group == key.group && event.sequence == key.sequence) return &event;
    return nullptr;
}

bool isJoined(const LaneFacts& lane, const SliceView& slice) {
    return lane.role == LaneRole::kCommunication && !isStreamLane(lane.lane) && slice.count == 1;
}

}  // namespace

Result<CollectiveViewPtr> loadCollective(storage::RecordingReader& reader,
                                         const OpenRecording& recording, RankId rank,
                                         CollectiveKey key, TimeRange slice) {
    const TimeRange around{slice.begin, slice.end + Duration{1}};
    std::vector<RankEvents> ranks;
    for (const RankFacts& each : recording.summary.ranks) {
        auto events = reader.rankEvents(each.rank, around);
        if (!events) return failure(events);
        ranks.push_back(std::move(*events));
    }
    auto view = std::make_shared<CollectiveView>();
    for (const RankEvents& events : ranks)
        if (const CollectiveEvent* event = find(events, key)) view->peers[events.rank] = *event;
    const auto own = view->peers.find(rank);
    if (own == view->peers.end()) return CollectiveViewPtr();
    view->event = own->second;
    view->members = analysis::groupMembers(ranks, key.group);
    for (const RankEvents& events : ranks)
        if (events.rank == rank)
            view->notBehindCompute =
                analysis::notBehindCompute(events, {view->event.start, view->event.end});
    return CollectiveViewPtr(std::move(view));
}

std::optional<FoundSlice> sameCollective(const CollectiveView& collective,
                                         const RecordingSummary& summary, LaneAddress from,
                                         const SliceView& slice, int rankStep) {
    // a kernel of NCCL does not say which collective it belongs to
    if (collective.peers.size() < 2 || isStreamLane(from.lane)) return std::nullopt;
    std::vector<const CollectiveEvent*> events;
    std::vector<RankId> ranks;
    int own = 0;
    for (const auto& [rank, event] : collective.peers) {
        if (rank == from.rank) own = static_cast<int>(ranks.size());
        ranks.push_back(rank);
        events.push_back(&event);
    }
    const int count = static_cast<int>(ranks.size());
    const auto wanted = static_cast<std::size_t>(((own + rankStep) % count + count) % count);
    FoundSlice found{{ranks[wanted], from.lane}, slice};
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank == ranks[wanted] && lane.role == LaneRole::kCommunication &&
            !isStreamLane(lane.lane))
            found.key.lane = lane.lane;
    }
    const CollectiveEvent& event = *events[wanted];
    found.slice.range = {event.start, event.end};
    found.slice.busy = event.end - event.start;
    found.slice.waitedUntil = event.lastArrival();
    return found;
}

Result<std::optional<FoundSlice>> findCollective(storage::RecordingReader& reader,
                                                 const OpenRecording& recording, CollectiveKey key,
                                                 TimeRange range, const Selection& among,
                                                 std::optional<RankId> preferred) {
    std::vector<LaneAddress> lanes;
    for (const LaneFacts& lane : recording.summary.lanes)
        if (lane.role == LaneRole::kCommunication && !isStreamLane(lane.lane) &&
            among.includes(lane.rank))
            lanes.push_back({lane.rank, lane.lane});
    std::stable_partition(lanes.begin(), lanes.end(), [&](const LaneAddress& lane) {
        return preferred && lane.rank == *preferred;
    });
    for (const LaneAddress& lane : lanes) {
        const auto spans =
            reader.spans(lane.rank, lane.lane, {range.begin, range.end + Duration{1}});
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) {
            if (span.correlation != key.correlation()) continue;
            const auto slice = loadSlice(reader, recording, lane, span);
            if (!slice) return failure(slice);
            return std::optional(FoundSlice{lane, *slice});
        }
    }
    return std::optional<FoundSlice>();
}

Result<void> joinCollectives(storage::RecordingReader& reader, const LaneFacts& lane,
                             std::vector<SliceView>& slices) {
    std::vector<CollectiveKey> keys;
    for (const SliceView& slice : slices)
        if (isJoined(lane, slice)) keys.push_back(CollectiveKey::of(slice.correlation));
    if (keys.empty()) return {};
    const auto events = reader.collectives(lane.rank, keys);
    if (!events) return failure(events);
    std::map<CollectiveKey, const CollectiveEvent*> byKey;
    for (const CollectiveEvent& event : *events) byKey[CollectiveKey::of(event)] = &event;
    for (SliceView& slice : slices) {
        if (!isJoined(lane, slice)) continue;
        const auto found = byKey.find(CollectiveKey::of(slice.correlation));
        if (found == byKey.end()) continue;
        slice.operation = found->second->operation;
        slice.layer = found->second->layer;
        slice.waitedUntil = found->second->lastArrival();
    }
    return {};
}

}  // namespace shardscope::desktop
