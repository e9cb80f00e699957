#include "profiler/analysis/rules/rule.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <iterator>

namespace shardscope::analysis {
namespace {

std::set<StepIndex> namesOf(const SteadySteps& steady) {
    std::set<StepIndex> names;
    for (const auto& [index, step] : steady.steps) names.insert(index);
    return names;
}

}  // namespace

RuleInput ruleInput(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                    const GatheredCollectives& collectives, const Report& report,
                    const std::vector<RankGrowth>& growths, const Surroundings& around) {
    const SteadySteps steady = steadySteps(summary, ranks);
    const std::set<StepIndex> names = namesOf(steady);
    RuleInput input{summary,
                    ranks,
                    collectives,
                    report,
                    growths,
                    around,
                    names,
                    comparedSteps(report.ledger, names),
                    {},
                    slowSteps(steady),
                    trainingHealth(summary, ranks),
                    {}};
    for (const LedgerRow& row : report.ledger)
        if (input.steps.contains(row.step)) input.rows[row.step].push_back(&row);
    return input;
}

std::optional<TimeRange> rangeOf(const RecordingSummary& summary, StepIndex first, StepIndex last) {
    std::optional<TimeRange> range;
    for (const StepFacts& step : summary.steps) {
        if (step.step < first || last < step.step) continue;
        if (!range) range = step.range();
        range->begin = std::min(range->begin, step.start);
        range->end = std::max(range->end, step.end);
    }
    return range;
}

Duration wallOf(const RuleInput& input) {
    Duration wall;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows) wall += row->wall;
    return wall;
}

Severity severityOf(Duration cost, Duration wall) {
    const bool much =
        cost.ns > 0 && static_cast<double>(cost.ns) >= kWarningCost * static_cast<double>(wall.ns);
    return much ? Severity::kWarning : Severity::kNote;
}

Severity severityOf(Duration cost, const RuleInput& input) {
    return severityOf(cost, wallOf(input));
}

}  // namespace shardscope::analysis
