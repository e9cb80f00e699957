#include "storage/recording/read/flow_arrows.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardscope::storage {
namespace {

/// What the points of one arrow have in common.
using ArrowKey = std::tuple<StringId, StringId, std::uint64_t, StringId>;

ArrowKey keyOf(const FlowEvent& event) {
    return {event.category, event.name, event.id, event.idText};
}

bool isOn(const FlowEvent& event, const BoundSpan& span) {
    return event.bound && event.lane == span.lane && event.spanStart == span.start &&
           event.depth == span.depth;
}

/// Calls `use` with every flow event of the rank in chunks that `wanted` says yes to.
template <class Wanted, class Use>
Result<void> forFlows(Connection& connection, EventSource& events, RankId rank, Wanted wanted,
                      Use use) {
    for (const ChunkDirectory::Lane& lane : events.directory().lanes()) {
        if (lane.kind != EventKind::kFlow || lane.rank != rank || !wanted(lane.lane)) continue;
        for (const ChunkEntry& chunk : *lane.chunks) {
            auto flows = events.chunk<FlowEvent>(connection, chunk.id);
            if (!flows) return failure(flows);
            for (const FlowEvent& event : **flows) use(event);
        }
    }
    return {};
}

}  // namespace

std::vector<FlowArrow> arrowsIn(std::vector<FlowEvent> points) {
    std::stable_sort(points.begin(), points.end(), [](const FlowEvent& a, const FlowEvent& b) {
        return std::tuple(a.time, a.point) < std::tuple(b.time, b.point);
    });
    std::vector<FlowArrow> arrows;
    bool ended = true;
    for (const FlowEvent& point : points) {
        if (ended || point.point == FlowPoint::kStart) arrows.emplace_back();
        arrows.back().push_back(point);
        ended = point.point == FlowPoint::kEnd;
    }
    return arrows;
}

Result<std::vector<FlowArrow>> findArrows(Connection& connection, EventSource& events,
                                          const BoundSpan& span) {
    std::map<ArrowKey, std::vector<FlowEvent>> points;
    std::vector<ArrowKey> order;
    auto found = forFlows(
        connection, events, span.rank, [&](LaneId lane) { return lane == span.lane; },
        [&](const FlowEvent& event) {
            if (isOn(event, span) && points.try_emplace(keyOf(event)).second)
                order.push_back(keyOf(event));
        });
    if (!found) return failure(found);
    std::vector<FlowArrow> arrows;
    if (order.empty()) return arrows;
    found = forFlows(
        connection, events, span.rank, [](LaneId) { return true; },
        [&](const FlowEvent& event) {
            if (const auto at = points.find(keyOf(event)); at != points.end())
                at->second.push_back(event);
        });
    if (!found) return failure(found);
    const auto touchesSpan = [&](const FlowEvent& event) { return isOn(event, span); };
    for (const ArrowKey& key : order)
        for (FlowArrow& arrow : arrowsIn(std::move(points[key])))
            if (std::any_of(arrow.begin(), arrow.end(), touchesSpan))
                arrows.push_back(std::move(arrow));
    return arrows;
}

}  // namespace shardscope::storage
