#include "profiler/analysis/rules/rule.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <iterator>

namespace shardscope::analysis {
namespace {

std::set<StepIndex> comparedSteps(const Report& report, const std::vector<RankEvents>& ranks) {
    std::set<StepIndex> steps, aside = stepsSetAside(ranks);
    for (const LedgerRow& row : report.ledger) {
        steps.insert(row.step);
        if (row.parts[at(LedgerPart::kEvaluation)].ns > 0 ||
            row.parts[at(LedgerPart::kCheckpoint)].ns > 0)
            aside.insert(row.step);
    }
    const auto warmup = std::min(static_cast<std::size_t>(report.warmupStepsLeftOut), steps.size());
    steps.erase(steps.begin(), std::next(steps.begin(), static_cast<std::ptrdiff_t>(warmup)));
    for (const StepIndex step : aside) steps.erase(step);
    return steps;
}

}  // namespace

RuleInput ruleInput(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                    const GatheredCollectives& collectives, const Report& report,
                    const std::vector<RankGrowth>& growths, const Surroundings& around) {
    RuleInput input{summary,
                    ranks,
                    collectives,
                    report,
                    growths,
                    around,
                    comparedSteps(report, ranks),
                    {},
                    slowSteps(steadySteps(summary, ranks), ranks),
                    trainingHealth(summary, ranks)};
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

Severity severityOf(Duration cost, const RuleInput& input) {
    return static_cast<double>(cost.ns) >= kWarningCost * static_cast<double>(wallOf(input).ns)
               ? Severity::kWarning
               : Severity::kNote;
}

}  // namespace shardscope::analysis
