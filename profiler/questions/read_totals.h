// Reads what spans of a recording sum up to, lane by lane.
#pragma once

#include "profiler/analysis/span_totals.h"
#include "profiler/questions/question.h"

#include <vector>

namespace shardscope::questions {

/// Which spans are counted.
enum class Counted { kOperators, kKernels };

/// Whether what ran outside of steps counts where there are steps: start-up and end do not repeat.
enum class Outside { kCounts, kLeftOut };

/// Of all selected ranks together, within the selection; spans that reach over its edges count
/// whole. One lane is in memory at a time.
[[nodiscard]] Result<std::vector<analysis::SpanTotal>> readTotals(
    const Asked& asked, Counted counted, Outside outside = Outside::kCounts);

}  // namespace shardscope::questions
