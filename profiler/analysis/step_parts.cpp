#include "profiler/analysis/step_parts.h"

#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace shardscope::analysis {

std::optional<StepPart> partOfName(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
    if (has("zero_grad")) return std::nullopt;
    if (lower.starts_with("autograd::engine::evaluate_function") || has("backward"))
        return StepPart::kBackward;
    if (has("optimizer")) return StepPart::kOptimizer;
    if (has("forward")) return StepPart::kForward;
    return std::nullopt;
}

PartTimes partTimes(PartRanges ranges) {
    PartTimes times{};
    Intervals taken;
    for (const StepPart part :
         {StepPart::kBackward, StepPart::kOptimizer, StepPart::kForward, StepPart::kOther}) {
        const auto at = static_cast<std::size_t>(part);
        const Intervals own = unionOf(std::move(ranges[at]));
        const Intervals left = difference(own, taken);
        times[at] = total(left);
        std::vector<TimeRange> both = taken;
        both.insert(both.end(), left.begin(), left.end());
        taken = unionOf(std::move(both));
    }
    return times;
}

std::map<StepIndex, PartTimes> partTimesByStep(const RankEvents& events) {
    std::map<StepIndex, PartRanges> ranges;
    for (const SpanEvent& phase : events.phases)
        if (phase.step != kNoStep)
            ranges[phase.step][static_cast<std::size_t>(stepPartOf(phase.phase))].push_back(
                phase.range());
    std::map<StepIndex, PartTimes> times;
    for (auto& [step, parts] : ranges) times[step] = partTimes(std::move(parts));
    return times;
}

}  // namespace shardscope::analysis
