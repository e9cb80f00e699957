// What in a run deserves the user's attention: the findings of all rules (rules/rule.h), and
// whether rules could look at enough. Pure; for report, window and scripts alike.
#pragma once

#include "profiler/analysis/report/report.h"

#include <vector>

namespace shardscope::analysis {

struct RuleInput;

struct RunFindings {
    std::vector<RunFinding> found;  ///< most severe first, then by cost
    Judged judged;
    std::vector<SlowStepFound> slowSteps;  ///< by step
};
/// Of a run that was cut short, or of which rules see too little, nothing may be said to stand out.
[[nodiscard]] RunFindings runFindings(const RuleInput& input);

}  // namespace shardscope::analysis
