#include "profiler/analysis/rules/rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::analysis {
namespace {

/// The part of a step that grew most against its median.
std::size_t grownPart(const LedgerRow& row, const LedgerParts& typical) {
    std::size_t grown = 0;
    for (std::size_t i = 1; i < typical.size(); ++i)
        if (row.parts[i] - typical[i] > row.parts[grown] - typical[grown]) grown = i;
    return grown;
}

/// The slowest one of which the ledger knows what it was spent on; null: of none.
const SlowStep* slowest(const RuleInput& input) {
    const SlowStep* found = nullptr;
    for (const SlowStep& step : input.slow.slow)
        if (input.rows.contains(step.step) &&
            (found == nullptr || step.range.duration() > found->range.duration()))
            found = &step;
    return found;
}

}  // namespace

MaybeFinding findSlowStep(const RuleInput& input) {
    const SlowStep* slow = slowest(input);
    if (slow == nullptr) return std::nullopt;
    const auto& rows = input.rows.at(slow->step);
    const LedgerRow& row = **std::max_element(
        rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->wall < b->wall; });
    const LedgerParts typical = medianParts(input.report.ledger, row.rank);
    const std::size_t grown = grownPart(row, typical);
    const Duration wall = slow->range.duration();
    const Duration median{static_cast<std::int64_t>(input.slow.medianNs)};
    RunFinding finding;
    finding.code = "slow-step";
    finding.title = fmt::format("Step {} took {:.1f} x the median", slow->step.value,
                                static_cast<double>(wall.ns) / input.slow.medianNs);
    finding.detail = fmt::format(
        "{} instead of {}; most of it in {} of rank {} ({} instead of {}). {} more of {} steps are "
        "twice the median. Warm-up and steps with evaluation, checkpoint or sample are not "
        "compared.",
        ruleText(wall), ruleText(median), toWord(static_cast<LedgerPart>(grown)), row.rank.value,
        ruleText(row.parts[grown]), ruleText(typical[grown]), input.slow.slow.size() - 1,
        input.slow.steps);
    finding.remedy =
        "look in the timeline at what that rank did in it, and at what else ran on the "
        "machine then";
    Duration cost;
    for (const SlowStep& each : input.slow.slow) cost += each.range.duration() - median;
    finding.cost = Duration{cost.ns * static_cast<std::int64_t>(rows.size())};
    finding.severity = severityOf(*finding.cost, input);
    finding.rank = row.rank;
    finding.steps = {slow->step, slow->step};
    finding.range = slow->range;
    finding.denominator = "median wall time of the compared steps";
    finding.evidence = {{"wall_ns", static_cast<double>(wall.ns)},
                        {"median_ns", input.slow.medianNs},
                        {"spread_ns", input.slow.spreadNs},
                        {"slow_steps", static_cast<double>(input.slow.slow.size())},
                        {"steps", static_cast<double>(input.slow.steps)}};
    return finding;
}

}  // namespace shardscope::analysis
