// Aggregates spans of one kind in a time range by name: count, total, own time, median, maximum.
// Pure.
#pragma once

#include "app/desktop/pages/timeline/timeline_frame.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace shardscope::desktop {

class RangeAggregation {
public:
    RangeAggregation(TimeRange range, RangeKind kind) : m_range(range), m_kind(kind) {}
    /// `spans` by start, of a lane that holds spans of the kind; time outside the range does not
    /// count.
    void addLane(const LaneFacts& lane, const std::vector<SpanEvent>& spans,
                 const std::function<QString(StringId)>& text);
    [[nodiscard]] RangeTable table(int ranks) const;

private:
    struct Sum {
        LaneRole role = LaneRole::kHost;
        Phase phase = Phase::kNone;
        bool onDevice = false;
        Duration total;
        Duration self;
        std::vector<Duration> durations;
        LaneAddress where;
        SpanEvent longest;
        Duration longestPart{-1};
        std::set<QString> laneNames;
        std::set<LaneAddress> lanes;
    };
    TimeRange m_range;
    RangeKind m_kind;
    int m_lanes = 0;
    std::map<QString, Sum> m_sums;
};

}  // namespace shardscope::desktop
