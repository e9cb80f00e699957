// What a step of each run is made of, by name, and what makes the difference: operators, kernels
// and collectives that were added, removed or cost another time; and what spans sum up to, lane by
// lane. Internal to profiler/questions.
#pragma once

#include "profiler/analysis/steps/step_parts.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::questions {

/// Of one step of one rank, on average.
struct Cost {
    double count = 0;
    double ns = 0;
};
using CostsByName = std::map<std::string, Cost>;
struct Costs {
    CostsByName operators, kernels;  ///< self time
    CostsByName collectives;         ///< from start to end, waiting included
};

[[nodiscard]] Result<Costs> readCosts(const Asked& asked, const std::vector<RankEvents>& ranks);

/// A table each, largest difference first.
void addCostTables(const Costs& first, const Costs& second, Answer& answer);

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
/// over its edges count whole; self times are those of a thread, whatever its lanes; `roles`, where
/// given, sums them up by role. One thread is in memory at a time.
[[nodiscard]] Result<CountedSpans> readSpanTotals(const Asked& asked, Counted counted,
                                                  Outside outside = Outside::kCounts,
                                                  RoleTotals* roles = nullptr);
/// By name, most self time first.
[[nodiscard]] Result<std::vector<analysis::SpanTotal>> readTotals(
    const Asked& asked, Counted counted, Outside outside = Outside::kCounts);
/// Whether spans of that lane are.
[[nodiscard]] bool isCounted(const LaneFacts& lane, Counted counted);

}  // namespace shardscope::questions
