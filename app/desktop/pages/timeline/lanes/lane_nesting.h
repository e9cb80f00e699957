// Where the slices of one thread or stream stand in one track: each below what contains it,
// whatever lane it is of. Pure.
#pragma once

#include "storage/model/units.h"

#include <cstdint>
#include <vector>

namespace shardscope::desktop {

struct NestedSlice {
    TimeRange range;
    std::uint8_t depth = 0;  ///< within its lane
    bool exact = true;       ///< one event that is wider than a cell; else what shares a cell
};

/// A lane of a track, by depth, then begin.
struct NestedLane {
    std::vector<NestedSlice> slices;
    /// Lanes of one tier do not run at once, as kernels and copies of a stream do not: where they
    /// are narrow they stand side by side and not below each other.
    int tier = 0;
};

/// Levels of the slices of `lanes`, 0 the outermost; the outer tier first. What is exact stands
/// below all that contains it, on the first level that is free: where spans nest, by how many
/// contain it. What is narrow stands below the exact slices around it, tier by tier within a cell,
/// and so takes its own level once one has zoomed in. Where spans nest that depends on what touches
/// a slice only: it is the same however one pans. `cell`: the width below which slices are no
/// longer exact.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> nestedLevels(
    const std::vector<NestedLane>& lanes, Duration cell);

}  // namespace shardscope::desktop
