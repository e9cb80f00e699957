#include "profiler/analysis/slow_steps.h"

#include <cmath>
#include <utility>

namespace shardscope::analysis {

double spreadAround(double median, std::vector<double> values) {
    for (double& value : values) value = std::abs(value - median);
    return kNormalSpread * medianOf(std::move(values));
}

std::set<StepIndex> stepsSetAside(const std::vector<RankEvents>& ranks) {
    std::set<StepIndex> aside;
    for (const RankEvents& events : ranks)
        for (const SpanEvent& phase : events.phases)
            if (setsAside(phase.phase)) aside.insert(phase.step);
    return aside;
}

SlowSteps slowSteps(const SteadySteps& steady, const std::vector<RankEvents>& ranks) {
    const std::set<StepIndex> aside = stepsSetAside(ranks);
    std::vector<SlowStep> compared;
    std::vector<double> times;
    for (const auto& [index, step] : steady.steps) {
        if (aside.contains(index)) continue;
        compared.push_back({index, step.range});
        times.push_back(static_cast<double>(step.range.duration().ns));
    }
    SlowSteps slow;
    slow.steps = compared.size();
    if (times.empty()) return slow;
    slow.medianNs = medianOf(times);
    slow.spreadNs = spreadAround(slow.medianNs, times);
    if (times.size() < kLeastStepsForSpread) return slow;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] > kSlowStepFactor * slow.medianNs &&
            times[i] > slow.medianNs + kSlowStepSpreads * slow.spreadNs)
            slow.slow.push_back(compared[i]);
    return slow;
}

}  // namespace shardscope::analysis
