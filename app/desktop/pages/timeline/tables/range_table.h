// Aggregates spans of one kind in a time range by name: count, total, own time, median, maximum.
// Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace shardscope::desktop {

class RangeAggregation {
public:
    /// `steps`: the range is theirs over all ranks, and touches the neighbours of some.
    RangeAggregation(TimeRange range, RangeKind kind, std::optional<StepSpan> steps = std::nullopt)
        : m_range(range), m_kind(kind), m_steps(steps) {}
    /// What is added from here on is of this lane, which holds spans of the kind.
    void beginLane(const LaneFacts& lane);
    /// `spans` by start, none of them before those added already; time outside the range does not
    /// count.
    void add(const std::vector<SpanEvent>& spans, const std::function<QString(StringId)>& text);
    /// All of a lane at once.
    void addLane(const LaneFacts& lane, const std::vector<SpanEvent>& spans,
                 const std::function<QString(StringId)>& text) {
        beginLane(lane);
        add(spans, text);
    }
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
    /// What is known of the lane that spans are added of.
    struct Pass {
        LaneFacts lane;
        RangeKind kind = RangeKind::kKernels;
        std::unordered_map<StringId, Sum*> sums;
        std::array<Sum*, 256> open{};  ///< by depth: the span that is open there
        std::array<TimeRange, 256> inside{};
    };
    [[nodiscard]] Sum& sumOf(StringId name, const std::function<QString(StringId)>& text);

    TimeRange m_range;
    RangeKind m_kind;
    std::optional<StepSpan> m_steps;
    int m_lanes = 0;
    Pass m_pass;
    std::map<QString, Sum> m_sums;
};

// The table of the selected range. Pure.

[[nodiscard]] std::vector<TableColumn> rangeColumns();
[[nodiscard]] TableRows rangeRows(const RangeTable& table);
/// "in steps 4-7", "in the whole run".
[[nodiscard]] QString whereText(const OpenRecording& recording, const Selection& selection);
/// What the table is of, and its shares: "in steps 4-7 · shares of 2 ranks x 4.86 ms".
[[nodiscard]] QString rangeCaption(const OpenRecording& recording, const Selection& selection,
                                   const RangeTable& table);

}  // namespace shardscope::desktop
