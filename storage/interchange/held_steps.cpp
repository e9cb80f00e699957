#include "storage/interchange/held_steps.h"

#include "storage/model/step_facts.h"

namespace shardscope::interchange {

HeldSteps::HeldSteps(const RecordingSummary& summary, const std::vector<RankId>& ranks,
                     const std::function<TimeRange(RankId)>& part) {
    for (const RankId rank : ranks) m_parts.emplace(rank, part(rank));
    for (const StepFacts& step : summary.steps) {
        m_known.insert(step.step);
        if (has(step)) m_held.insert(step.step);
    }
}

bool HeldSteps::has(const StepFacts& step) const {
    const auto part = m_parts.find(step.rank);
    return part != m_parts.end() && part->second.begin <= step.start &&
           step.end <= part->second.end;
}

bool HeldSteps::has(const MetricPoint& metric, TimeRange otherwise) const {
    if (m_known.contains(metric.step)) return m_held.contains(metric.step);
    return otherwise.contains(metric.time);
}

}  // namespace shardscope::interchange
