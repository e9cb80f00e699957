// What the Timeline asks of a recording: pictures, tables, neighbours and links as plain values.
// Functions of a reader and a query; they run on the loader thread and end with kCancelled soon
// after a newer question of their topic was asked.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>
#include <vector>

namespace shardscope::desktop {

Result<TimelineFramePtr> loadTimeline(storage::RecordingReader& reader,
                                      const OpenRecording& recording, const TimelineQuery& query,
                                      const storage::Generation& generation);

/// Adds up the spans of a kind that `range` touches by name; of all ranks where none is named.
struct RangeTableQuery {
    TimeRange range;
    RangeKind kind = RangeKind::kKernels;
    std::vector<RankId> ranks;
    std::optional<StepSpan> steps;  ///< only these of what belongs to a step
};
Result<RangeTablePtr> loadRangeTable(storage::RecordingReader& reader,
                                     const OpenRecording& recording, const RangeTableQuery& query,
                                     const storage::Generation& generation);

/// How a span of a lane is shown.
Result<SliceView> loadSlice(storage::RecordingReader& reader, const OpenRecording& recording,
                            LaneAddress key, const SpanEvent& span);

/// What ranks did longest within `range` on the thread of their steps, or, of a trace, on a stream
/// that computes; of `rank`, where one is named. nullopt: nothing is there.
Result<std::optional<FoundSlice>> findLongest(storage::RecordingReader& reader,
                                              const OpenRecording& recording, TimeRange range,
                                              std::optional<RankId> rank);

/// The span after (or before) the one that starts at `from` on the same lane and depth;
/// nullopt at the end of the lane.
struct NeighbourQuery {
    LaneAddress key;
    TimeRange from;
    std::uint8_t depth = 0;
    bool forward = true;
};
Result<std::optional<SliceView>> loadNeighbour(storage::RecordingReader& reader,
                                               const OpenRecording& recording,
                                               const NeighbourQuery& query,
                                               const storage::Generation& generation);

/// Slices of the same rank with the correlation of a kernel, copy, CUDA call or wait, by start;
/// then those that flows of an imported trace lead to or come from.
struct LinkQuery {
    LaneAddress key;
    TimeRange from;
    std::uint64_t correlation = 0;
    std::uint8_t depth = 0;
};
Result<std::vector<LinkedSlice>> loadLinks(storage::RecordingReader& reader,
                                           const OpenRecording& recording, const LinkQuery& query,
                                           const storage::Generation& generation);

}  // namespace shardscope::desktop
