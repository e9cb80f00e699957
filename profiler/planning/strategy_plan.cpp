#include "profiler/planning/strategy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace shardscope::planning {
namespace {

/// A plan without a memory limit is judged by its time alone.
bool comesIntoQuestion(const StrategyPlan& plan) {
    return plan.fits.value_or(plan.forecast.has_value());
}

/// What is better is less.
double burden(const StrategyPlan& plan, bool byTime) {
    return byTime ? plan.forecast->step.time.seconds() : plan.communicationBytesPerStep;
}

std::string_view fitting(const StrategyPlan& plan) {
    return plan.fits ? "It fits" : "It may be taken";
}

/// Below it times are reported as equal.
constexpr double kSlower = 1.005;

std::string slower(const StrategyPlan& plan, const StrategyPlan& chosen) {
    if (burden(plan, true) < kSlower * burden(chosen, true))
        return fmt::format("{}, and its step takes as long as {}'s.", fitting(plan), chosen.name);
    return fmt::format("{}, but a step takes {:.3g} times as long as with {}.", fitting(plan),
                       burden(plan, true) / burden(chosen, true), chosen.name);
}

std::string sendsMore(const StrategyPlan& plan, const StrategyPlan& chosen) {
    if (plan.communicationBytesPerStep <= chosen.communicationBytesPerStep)
        return fmt::format("It fits and sends as much as {}, which comes before it.", chosen.name);
    if (chosen.communicationBytesPerStep <= 0)
        return fmt::format("It fits, but {} sends nothing.", chosen.name);
    return fmt::format("It fits, but sends {:.3g} times as much as {}.",
                       plan.communicationBytesPerStep / chosen.communicationBytesPerStep,
                       chosen.name);
}

const char* chosenFor(bool byTime, bool someUnknown) {
    if (byTime)
        return someUnknown ? "Of those whose step time is known it takes least."
                           : "Its step takes least time.";
    return someUnknown ? "Not all step times are known: of what fits it sends least, and is the "
                         "simplest of those that send as much."
                       : "Of what fits it sends least, and is the simplest of those that send as "
                         "much.";
}

}  // namespace

bool fitsInto(const StrategyPlan& plan, Bytes memory) {
    const auto room = static_cast<double>(memory.count);
    return plan.peakBytesPerRank ? *plan.peakBytesPerRank <= room
                                 : plan.stateBytesPerRank <= kStateShare * room;
}

void recommend(std::vector<StrategyPlan>& plans) {
    std::vector<StrategyPlan*> possible;
    for (StrategyPlan& plan : plans)
        if (comesIntoQuestion(plan)) possible.push_back(&plan);
    if (possible.empty()) return;
    const bool byTime = std::all_of(possible.begin(), possible.end(),
                                    [](const StrategyPlan* plan) { return plan->forecast; });
    StrategyPlan* const chosen = *std::min_element(
        possible.begin(), possible.end(), [byTime](const StrategyPlan* a, const StrategyPlan* b) {
            return burden(*a, byTime) < burden(*b, byTime);
        });
    chosen->recommended = true;
    const bool someUnknown = std::any_of(plans.begin(), plans.end(), [](const StrategyPlan& plan) {
        return !plan.timeUnknown.empty();
    });
    chosen->reason = chosenFor(byTime, someUnknown);
    for (StrategyPlan* plan : possible)
        if (plan != chosen)
            plan->reason = byTime ? slower(*plan, *chosen) : sendsMore(*plan, *chosen);
}

}  // namespace shardscope::planning
