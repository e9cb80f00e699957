// Reads what spans of a recording sum up to, lane by lane.
#pragma once

#include "profiler/analysis/step_parts.h"
#include "profiler/questions/question.h"

#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::questions {

/// Which spans are counted.
enum class Counted { kOperators, kKernels, kCopies };

/// Whether what ran outside of steps counts where there are steps: start-up and end do not repeat.
enum class Outside { kCounts, kLeftOut };

/// What lanes of a role show, together.
struct RoleTotal {
    std::int64_t count = 0;
    Duration total;
};
using RoleTotals = std::map<LaneRole, RoleTotal>;

struct CountedSpans {
    analysis::SpanTotals totals;
    Duration apart;  ///< self time of what is none of the training's (isApart) and left out
};

/// Of all selected ranks together, by name and by layer, within the selection; spans that reach
/// over its edges count whole; `roles`, where given, sums them up by role. One lane is in memory at
/// a time.
[[nodiscard]] Result<CountedSpans> readSpanTotals(const Asked& asked, Counted counted,
                                                  Outside outside = Outside::kCounts,
                                                  RoleTotals* roles = nullptr);
/// By name, most self time first.
[[nodiscard]] Result<std::vector<analysis::SpanTotal>> readTotals(
    const Asked& asked, Counted counted, Outside outside = Outside::kCounts);
/// Whether spans of that lane are.
[[nodiscard]] bool isCounted(const LaneFacts& lane, Counted counted);

}  // namespace shardscope::questions
