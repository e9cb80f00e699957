// The slices of a row as they are painted and hit: of its lane, of the parts of a summary, of a
// track by level.
#pragma once

#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

namespace shardscope::desktop {

/// Calls `use(lane, slice, level)`, what lies below first; of a track on levels that are shown.
/// What is not loaded has none.
template <class Use>
void forSlicesOf(const LaneRow& row, const TimelineFrame& frame, Use use) {
    if (row.kind == LaneRow::Kind::kTrack) {
        const TrackFrame* track = frame.track(row.parts);
        if (track == nullptr) return;
        for (const TrackSlice& one : track->slices) {
            if (one.level >= row.depths) break;  // by level
            const LaneFrame& lane = frame.lanes[one.lane];
            use(lane, lane.slices[one.slice], static_cast<int>(one.level));
        }
        return;
    }
    for (const LaneAddress& key : row.lanes())
        if (const LaneFrame* lane = frame.lane(key))
            for (const SliceView& slice : lane->slices)
                use(*lane, slice, static_cast<int>(slice.depth));
}

}  // namespace shardscope::desktop
