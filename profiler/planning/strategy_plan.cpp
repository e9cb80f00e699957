#include "profiler/planning/strategy_plan.h"

#include <fmt/format.h>

namespace shardscope::planning {
namespace {

StrategyPlan* best(std::vector<StrategyPlan>& plans) {
    StrategyPlan* found = nullptr;
    for (StrategyPlan& plan : plans)
        if (plan.fits.value_or(false) &&
            (found == nullptr || plan.communicationBytesPerStep < found->communicationBytesPerStep))
            found = &plan;
    return found;
}

std::string besides(const StrategyPlan& plan, const StrategyPlan& chosen) {
    if (plan.communicationBytesPerStep <= chosen.communicationBytesPerStep)
        return fmt::format("It fits and sends as much as {}, which comes before it.", chosen.name);
    if (chosen.communicationBytesPerStep <= 0)
        return fmt::format("It fits, but {} sends nothing.", chosen.name);
    return fmt::format("It fits, but sends {:.3g} times as much as {}.",
                       plan.communicationBytesPerStep / chosen.communicationBytesPerStep,
                       chosen.name);
}

}  // namespace

void recommend(std::vector<StrategyPlan>& plans) {
    StrategyPlan* const chosen = best(plans);
    if (chosen == nullptr) return;
    chosen->recommended = true;
    chosen->reason = "Of what fits it sends least, and is the simplest of those that send as much.";
    for (StrategyPlan& plan : plans)
        if (&plan != chosen && plan.fits.value_or(false)) plan.reason = besides(plan, *chosen);
}

}  // namespace shardscope::planning
