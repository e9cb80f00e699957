#include "storage/model/step_time.h"

#include "storage/model/step_facts.h"

#include <algorithm>

namespace shardscope {

std::optional<TimeRange> timeOfSteps(const std::vector<StepFacts>& steps, StepIndex first,
                                     StepIndex last, const std::vector<RankId>& ranks) {
    std::optional<TimeRange> time;
    for (const StepFacts& step : steps) {
        if (step.step < first || last < step.step) continue;
        if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), step.rank) == ranks.end())
            continue;
        if (!time) time = step.range();
        time->begin = std::min(time->begin, step.start);
        time->end = std::max(time->end, step.end);
    }
    return time;
}

}  // namespace shardscope
