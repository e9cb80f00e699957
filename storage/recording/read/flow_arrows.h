// Joins flow events of a rank to arrows. Part of the reader.
#pragma once

#include "storage/recording/read/event_source.h"
#include "storage/recording/read/recording_reader.h"

#include <vector>

namespace shardscope::storage {

/// A span that flow events are bound to.
struct BoundSpan {
    RankId rank;
    LaneId lane;
    Timestamp start;
    std::uint8_t depth = 0;
};

/// The arrows that touch `span`, in order of the points that lie on it.
Result<std::vector<FlowArrow>> findArrows(Connection& connection, EventSource& events,
                                          const BoundSpan& span);

/// Splits points of one category, name and id, by time, into arrows: an id may be used again once
/// its arrow has ended, and every start begins a new one.
[[nodiscard]] std::vector<FlowArrow> arrowsIn(std::vector<FlowEvent> points);

}  // namespace shardscope::storage
