// Which lanes of a thread or stream nest in one track, and which keep a row of their own. Pure;
// part of the layout.
#pragma once

#include "app/desktop/pages/timeline/lane_groups.h"

#include <vector>

namespace shardscope::desktop {

/// The lanes of one row: one, or those of a track, the outermost kind first.
using LanesOfRow = std::vector<const KnownLane*>;

/// `lanes` as rows, each where its first lane is. Where `nested`, all that one thread does is one
/// row, and all that one stream runs: a stream's waits span kernels that they do not contain, and
/// what a tracer cost lies over whatever it cost.
[[nodiscard]] std::vector<LanesOfRow> rowsOf(const LanesOfRow& lanes, bool nested);

/// Kernels, collectives and copies: one stream runs them one after the other.
[[nodiscard]] bool runsOnStream(LaneId lane, LaneRole role);

}  // namespace shardscope::desktop
