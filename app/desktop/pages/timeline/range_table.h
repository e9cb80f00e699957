// Aggregates spans of a time range by name: count, total, own time, median, maximum. Pure.
#pragma once

#include "app/desktop/pages/timeline/timeline_frame.h"

#include <functional>
#include <map>
#include <vector>

namespace shardscope::desktop {

class RangeAggregation {
public:
    explicit RangeAggregation(TimeRange range) : m_range(range) {}
    /// `spans` by start; time outside the range does not count.
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
    };
    TimeRange m_range;
    std::map<std::pair<QString, QString>, Sum> m_sums;  ///< by lane name and name
};

}  // namespace shardscope::desktop
