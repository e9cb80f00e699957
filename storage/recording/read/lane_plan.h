// What a view of one lane is made from: stored summaries where a bucket is no coarser than a
// pixel, else events. Decides, and reads nothing but the list of segments. Part of the reader.
#pragma once

#include "storage/recording/read/event_source.h"
#include "storage/recording/read/pyramid_source.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>
#include <vector>

namespace shardscope::storage {

/// Drawing merges what shares a cell: the largest power of two that is no wider than a pixel.
[[nodiscard]] int cellShift(Duration resolution);

/// What can hold events: level arithmetic beyond it could overflow.
[[nodiscard]] TimeRange sensible(TimeRange range);

struct LanePlan {
    LaneAddress lane;
    EventKind kind = EventKind::kSpan;  ///< of its chunks
    std::optional<int> level;           ///< of the pyramid; none: events alone
    std::vector<ChunkEntry> chunks;     ///< whose events are asked for, oldest first
    std::vector<SegmentEntry> stored;   ///< segments asked for, by level and segment
    bool missingIsEmpty = false;        ///< finalised: segments of all but the finest levels

    std::vector<std::int64_t> uncovered;  ///< chunks with events that no stored segment holds
    std::uint64_t events = 0;             ///< to decode

    /// Whether the events of a chunk are in a segment of level `at` as it is stored, or it may be
    /// taken to be empty.
    [[nodiscard]] bool covers(int at, std::int64_t segment, std::int64_t chunk) const;
};

/// Segments of `level` that can show something within `range`.
struct SegmentRange {
    std::int64_t from = 0;
    std::int64_t to = 0;
};
[[nodiscard]] SegmentRange segmentsOf(int level, TimeRange range);

struct PlanContext {
    Connection& connection;
    const EventSource& events;
    PyramidSource& pyramid;
    bool finalised = false;
};
Result<LanePlan> planSpans(const PlanContext& context, LaneAddress lane, const View& view);
Result<LanePlan> planSamples(const PlanContext& context, LaneAddress lane, const View& view);

}  // namespace shardscope::storage
