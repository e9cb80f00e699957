// On which level of its track a slice of a picture stands.
#pragma once

#include "app/desktop/pages/timeline/lane_nesting.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <cstddef>
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

}  // namespace shardscope::desktop
