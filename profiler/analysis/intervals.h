// Sets of half-open intervals: sorted, disjoint, none empty. Pure functions, linear after sorting.
#pragma once

#include "storage/model/units.h"

#include <vector>

namespace shardscope::analysis {

using Intervals = std::vector<TimeRange>;

/// Any intervals, in any order, as a set.
[[nodiscard]] Intervals unionOf(std::vector<TimeRange> ranges);
/// The rest take sets and give sets.
[[nodiscard]] Intervals intersection(const Intervals& a, const Intervals& b);
[[nodiscard]] Intervals difference(const Intervals& a, const Intervals& b);
[[nodiscard]] Duration total(const Intervals& set);
/// Of what lies within the range; by binary search.
[[nodiscard]] Duration total(const Intervals& set, TimeRange range);

}  // namespace shardscope::analysis
