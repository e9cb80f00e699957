// On which level of its track a slice of a picture stands.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/timeline/lanes/lane_groups.h"
#include "app/desktop/pages/timeline/lanes/lane_nesting.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <map>
#include <vector>

namespace shardscope::desktop {

/// An empty lane that is the `place`th of its track; what a stream runs is one tier.
[[nodiscard]] NestedLane trackLane(LaneId lane, LaneRole role, std::size_t place);
/// As the reader merges: what is as long as this stands alone.
[[nodiscard]] Duration cellOf(Duration resolution);

/// A lane of a track with its slices, as they were read or are shown, at a resolution.
template <class Slice>
[[nodiscard]] NestedLane trackLane(LaneAddress key, LaneRole role, std::size_t place,
                                   const std::vector<Slice>& slices, Duration resolution) {
    const Duration cell = cellOf(resolution);
    NestedLane lane = trackLane(key.lane, role, place);
    lane.slices.reserve(slices.size());
    for (const Slice& slice : slices)
        lane.slices.push_back(
            {slice.range, slice.depth,
             slice.count == 1 && !slice.instant && slice.range.duration() >= cell});
    return lane;
}

/// Fills in the tracks that the frame's query names, and the levels of their lanes. Loader thread.
void nestTracks(TimelineFrame& frame);

/// Of a slice of a lane, be it loaded as part of the picture or by itself: where the picture has
/// it, or what it is merged into; else where the nearest of its depth stands. Of a lane in no
/// track, or that is not loaded, its own depth.
[[nodiscard]] int levelOf(const TimelineFrame& frame, LaneAddress key, const SliceView& slice);

// Which lanes of a thread or stream nest in one track, and which keep a separate row. Pure;
// part of the layout.

/// The lanes of one row: one, or those of a track, the outermost kind first.
using LanesOfRow = std::vector<const KnownLane*>;

/// `lanes` as rows, each where its first lane is. Where `nested`, all that one thread does is one
/// row, and all that one stream runs: a stream's waits span kernels that they do not contain, and
/// what a tracer cost lies over whatever it cost.
[[nodiscard]] std::vector<LanesOfRow> rowsOf(const LanesOfRow& lanes, bool nested);

/// Kernels, collectives and copies: one stream runs them one after the other.
[[nodiscard]] bool runsOnStream(LaneId lane, LaneRole role);

// How many levels lanes and tracks have: asked of the recording as a whole, so that rows do not
// grow while one moves along. On the loader thread.

/// By the lanes of a row: one, or those that nest in one track.
using LaneDepths = std::map<std::vector<LaneAddress>, int>;

/// Of rows of spans; 0: nothing is on it. Of a track as deep as it is in a picture of the whole; in
/// detail too where that is at hand and not too much.
Result<LaneDepths> loadLaneDepths(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const std::vector<std::vector<LaneAddress>>& rows,
                                  const storage::Generation& generation);

}  // namespace shardscope::desktop
