// What bounds a step: the chain of activities over all ranks without which it would have ended
// earlier.
//
// Walked backward from the end of the last rank: before an activity lies its delay, before that the
// last to end of what it depends on, on whichever rank that was. So at each instant of the step the
// path is on one rank in one activity: pieces are disjoint, follow each other, and add up to the
// step's wall time, from the first rank's beginning to the last one's end, exactly. Nanoseconds;
// shares are of the wall time of the steps looked at.
//
// Where two activities end at the same instant there are several such paths; it is then the one
// through what was named first in the graph.
#pragma once

#include "profiler/analysis/graph/step_graph.h"

#include <vector>

namespace shardscope::analysis {

struct PathPiece {
    RankId rank;
    PathKind kind = PathKind::kHost;
    std::uint32_t name = 0;  ///< of PathNames: the activity, or the one that a delay is before
    LayerIndex layer = kNoLayer;
    TimeRange range;
};

/// By time, none empty, neighbours that are of one activity joined. Of a sealed graph; empty where
/// it has no end or no length.
[[nodiscard]] std::vector<PathPiece> criticalPath(const StepGraph& graph);

}  // namespace shardscope::analysis
