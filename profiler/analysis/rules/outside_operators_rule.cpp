#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/event_account.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace shardscope::analysis {
namespace {

/// Where the library in the program says what most parameters lie on.
constexpr const char* kDeviceFact = "device";

Duration perEach(Duration sum, std::int64_t count) {
    return {count > 0 ? sum.ns / count : 0};
}

std::string remedyOf(const OperatorTime& all) {
    if (all.inLongGaps.ns * 2 > all.outside.ns)
        return fmt::format(
            "most of it lies in pieces of {} or more: look in the timeline at what the program "
            "does "
            "there between operators (Python, files, logging, locks)",
            durationText(kLongGap));
    return "give each operator more to do with larger batches, or run fewer of them: "
           "torch.compile, and optimizers with foreach=True or fused=True in place of loops over "
           "parameters";
}

std::string detailOf(const OperatorTime& all, std::size_t steps, std::size_t looked) {
    return fmt::format(
        "In {} of {} analysed steps {:.0f} % of the time or more was outside of operators: Python, "
        "PyTorch's dispatch, anything else but waits, data loading and collectives. {:.0f} "
        "operators per second and rank, {} each on average, and {} outside per operator, of which "
        "recording takes below 1 us.",
        steps, looked, 100 * kLeastOutsideOperators,
        static_cast<double>(all.operators) / std::max(all.wall.seconds(), 1e-9),
        durationText(perEach(all.inOperators, all.operators)),
        durationText(perEach(all.outside, all.operators)));
}

}  // namespace

std::string whyNoOperatorTime(const RuleInput& input) {
    const RecordingSummary& summary = input.summary;
    if (sourceOf(summary.run) != RecordingSource::kProgram || summary.ranks.empty()) return {};
    const bool elsewhere = std::any_of(
        summary.facts.begin(), summary.facts.end(),
        [](const FactRow& row) { return row.name == kDeviceFact && row.value != "cpu"; });
    if (elsewhere) return "its parameters are not on the CPU";
    if (eventAccount(summary).dropped > 0) return "events were dropped";
    if (!input.operators.empty()) return {};
    return withHow("no operators of steady steps are recorded", summary, Lack::kOperators);
}

MaybeFinding findOutsideOperators(const RuleInput& input) {
    if (input.operators.empty() || !whyNoOperatorTime(input).empty()) return std::nullopt;
    OperatorTime all;
    std::map<StepIndex, OperatorTime> byStep;
    for (const OperatorTime& each : input.operators) {
        all += each;
        byStep[each.step] += each;
    }
    const auto steps =
        static_cast<std::size_t>(std::count_if(byStep.begin(), byStep.end(), [](const auto& each) {
            return each.second.share() >= kLeastOutsideOperators;
        }));
    if (all.share() < kLeastOutsideOperators ||
        static_cast<double>(steps) < kRegularlyIdle * static_cast<double>(byStep.size()))
        return std::nullopt;
    RunFinding finding;
    finding.code = "host-bound";
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("No operator runs for {:.0f} % of the steps: the host limits them",
                                100 * all.share());
    finding.detail = detailOf(all, steps, byStep.size());
    finding.remedy = remedyOf(all);
    finding.cost = Duration{std::llround(all.share() * static_cast<double>(wallOf(input).ns))};
    finding.steps = {byStep.begin()->first, byStep.rbegin()->first};
    finding.range = rangeOf(input.summary, finding.steps->first, finding.steps->second);
    finding.denominator = "wall time of the analysed steps, over ranks";
    const auto rankSteps = static_cast<std::int64_t>(input.operators.size());
    finding.evidence = {
        {"share", all.share()},
        {"outside_per_step_ns", static_cast<double>(perEach(all.outside, rankSteps).ns)},
        {"long_gaps_per_step_ns", static_cast<double>(perEach(all.inLongGaps, rankSteps).ns)},
        {"operators_per_step", static_cast<double>(all.operators) / static_cast<double>(rankSteps)},
        {"operators_per_s",
         static_cast<double>(all.operators) / std::max(all.wall.seconds(), 1e-9)},
        {"mean_operator_ns", static_cast<double>(perEach(all.inOperators, all.operators).ns)},
        {"steps", static_cast<double>(steps)}};
    return finding;
}

}  // namespace shardscope::analysis
