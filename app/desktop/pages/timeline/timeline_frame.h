// What the Timeline asks and draws: slices with their names, counters, the table of a range.
// Plain values, immutable once handed over.
#pragma once

#include "storage/model/recording.h"

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// One rectangle of the timeline: an event, or `count` events that share a pixel.
struct SliceView {
    TimeRange range;
    QString name;
    QString arguments;
    std::uint32_t count = 1;
    Duration busy;
    std::uint64_t correlation = 0;
    LayerIndex layer = kNoLayer;
    StepIndex step = kNoStep;
    Phase phase = Phase::kNone;
    std::uint8_t depth = 0;
    bool onDevice = false;                  ///< on a stream of a device
    std::optional<CollectiveOp> operation;  ///< on communication lanes
    Timestamp waitedUntil;  ///< last arrival of a collective; range.begin when no rank waited
    bool instant = false;   ///< a mark, or several from the first to the last

    friend bool operator==(const SliceView&, const SliceView&) = default;
};

struct CounterView {
    TimeRange range;
    double minimum = 0;
    double maximum = 0;
    double last = 0;
};

struct LaneFrame {
    LaneAddress key;
    LaneRole role = LaneRole::kHost;
    std::vector<SliceView> slices;
    std::vector<CounterView> points;
    std::vector<std::uint8_t> levels;  ///< of its slices in their track; none: it is in no track
};

/// A slice of one of the lanes of a track.
struct TrackSlice {
    std::uint32_t lane = 0;   ///< of TimelineFrame::lanes
    std::uint32_t slice = 0;  ///< of its slices
    std::uint8_t level = 0;
};

/// What one thread or stream did, as it nests: by level, then begin.
struct TrackFrame {
    std::vector<LaneAddress> lanes;
    std::vector<TrackSlice> slices;
};

/// What joins two slices.
enum class LinkKind : std::uint8_t {
    kLaunch,    ///< a kernel, copy or wait and its call: one correlation
    kBackward,  ///< an operator and what computes its gradient: one sequence number
    kPeer,      ///< the same collective on another rank
    kArrow,     ///< of an imported trace
};
/// A slice, and the lane that it lies on.
struct FoundSlice {
    LaneAddress key;
    SliceView slice;
};
/// A slice that another is joined with.
struct LinkedSlice {
    LaneAddress key;
    SliceView slice;
    bool byArrow = false;
    LinkKind kind = LinkKind::kLaunch;
};

struct TimelineQuery {
    TimeRange range;
    Duration resolution;
    std::vector<LaneAddress> lanes;
    std::vector<std::vector<LaneAddress>> tracks =
        {};  ///< of which of them nest, the outer kind first
};

struct TimelineFrame {
    TimelineQuery query;
    std::vector<LaneFrame> lanes;
    std::vector<TrackFrame> tracks;
    [[nodiscard]] const LaneFrame* lane(LaneAddress key) const {
        for (const LaneFrame& frame : lanes) {
            if (frame.key == key) return &frame;
        }
        return nullptr;
    }
    /// Null: it was not asked for.
    [[nodiscard]] const TrackFrame* track(const std::vector<LaneAddress>& of) const {
        for (const TrackFrame& frame : tracks) {
            if (frame.lanes == of) return &frame;
        }
        return nullptr;
    }
};

/// What the table of a range adds up: spans of one kind, so that shares have one denominator.
enum class RangeKind : std::uint8_t {
    kKernels,
    kOperators,
    kCollectives,
    kCopies,
    kCalls,  ///< CUDA runtime and driver
    kWaits,  ///< of host threads for the device
    kPhases,
    kAnnotations,  ///< steps and ranges that the program named
    kPython,
    kApart,  ///< calibration, and what the profiler says of itself
};

/// Aggregation by name over the selected range; times are of what lies inside it.
struct RangeRow {
    QString name;
    QString lane;   ///< where there is one name of all lanes
    int lanes = 1;  ///< that have it
    LaneRole role = LaneRole::kHost;
    Phase phase = Phase::kNone;  ///< of the first such event
    bool onDevice = false;
    std::int64_t count = 0;
    Duration total;   ///< with what is nested inside
    Duration self;    ///< without
    Duration median;  ///< of one event, nested time included
    Duration maximum;
    LaneAddress where;  ///< of the longest
    SpanEvent span;     ///< the longest, whole
    SliceView longest;  ///< the same, to be shown
};

struct RangeTable {
    TimeRange range;
    RangeKind kind = RangeKind::kKernels;
    int ranks = 0;  ///< that are looked at
    int lanes = 0;  ///< with such events in the range: what shares are of, each once the range
    std::vector<RangeRow> rows;  ///< most self time first
};

using TimelineFramePtr = std::shared_ptr<const TimelineFrame>;
using RangeTablePtr = std::shared_ptr<const RangeTable>;

}  // namespace shardscope::desktop
