#include "profiler/analysis/rules/rule.h"

#include <fmt/format.h>

#include <cmath>

namespace shardscope::analysis {
namespace {

struct TrainingRule {
    TrainingEvent event;
    const char* code;
    Severity severity;
    const char* what;  ///< in the title; {}: the metric
    const char* remedy;
};
constexpr TrainingRule kTrainingRules[] = {
    {TrainingEvent::kNotFinite, "not-finite", Severity::kProblem, "The {} is NaN or infinite",
     "go back to a checkpoint before it, with a lower learning rate, gradient clipping, or bf16 "
     "instead of fp16"},
    {TrainingEvent::kLossSpike, "loss-spike", Severity::kWarning, "The loss jumps",
     "look at the data of that step and of the one before, at the learning rate, and at gradient "
     "clipping"},
    // Clipping is there for them: of one by itself nothing need follow.
    {TrainingEvent::kGradientNorm, "gradient-norm", Severity::kNote, "The gradient norm jumps",
     "look at the data of that step, and whether gradients are clipped"},
};

/// How far out: not a number most of all, and of these the first.
double outBy(const TrainingMoment& moment) {
    return moment.typical > 0 && std::isfinite(moment.value) ? moment.value / moment.typical : 0;
}

MaybeFinding findMoment(const TrainingRule& rule, const TrainingHealth& health) {
    const TrainingMoment* worst = nullptr;
    std::size_t count = 0;
    for (const TrainingMoment& moment : health.moments) {
        if (moment.event != rule.event) continue;
        ++count;
        if (worst == nullptr || outBy(moment) > outBy(*worst)) worst = &moment;
    }
    if (worst == nullptr) return std::nullopt;
    const bool finite = std::isfinite(worst->value);
    RunFinding finding;
    finding.code = rule.code;
    finding.severity = rule.severity;
    finding.title = fmt::format(fmt::runtime(rule.what), worst->what) +
                    fmt::format(" in step {}", worst->step.value);
    finding.detail =
        fmt::format("{}{} {}",
                    finite ? fmt::format("{:.4g}, {:.2f} x the median of the ten steps before. ",
                                         worst->value, outBy(*worst))
                           : std::string(),
                    entryOf(rule.event)->definition,
                    count == 1 ? std::string("It happened once.")
                               : fmt::format("It happened {} times.", count));
    finding.remedy = rule.remedy;
    finding.steps = {worst->step, worst->step};
    finding.range = TimeRange{worst->time, worst->time + Duration{1}};
    finding.denominator = "median of the ten steps before";
    // JSON knows no numbers that are none.
    if (finite) finding.evidence = {{"value", worst->value}, {"typical", worst->typical}};
    finding.evidence.push_back({"count", static_cast<double>(count)});
    return finding;
}

}  // namespace

std::vector<RunFinding> findInTraining(const RuleInput& input) {
    std::vector<RunFinding> found;
    for (const TrainingRule& rule : kTrainingRules)
        if (auto finding = findMoment(rule, input.health)) found.push_back(std::move(*finding));
    return found;
}

}  // namespace shardscope::analysis
