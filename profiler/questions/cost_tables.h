// What a step of each run is made of, by name, and what makes the difference: operators, kernels
// and collectives that were added, removed or cost another time. Internal to profiler/questions.
#pragma once

#include "profiler/questions/answer.h"
#include "profiler/questions/question.h"

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

}  // namespace shardscope::questions
