#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace shardscope::analysis {
namespace {

/// The part of a step that grew most against its median.
std::size_t grownPart(const LedgerRow& row, const LedgerParts& typical) {
    std::size_t grown = 0;
    for (std::size_t i = 1; i < typical.size(); ++i)
        if (row.parts[i] - typical[i] > row.parts[grown] - typical[grown]) grown = i;
    return grown;
}

struct Choice {
    const SlowStep* step = nullptr;  ///< null: of none the ledger knows what it was spent on
    CoresTaken taken;
    Duration unexplained;  ///< what all slow steps cost of which others did not take most
};

/// Of each, what is true of all that follow each other with it: ranks of which one was held up at
/// the end of a step wait for it in the next.
std::map<StepIndex, CoresTaken> takenTogether(const std::map<StepIndex, CoresTaken>& each) {
    std::map<StepIndex, CoresTaken> together;
    for (auto first = each.begin(); first != each.end();) {
        CoresTaken sum = first->second;
        auto end = std::next(first);
        for (; end != each.end() && end->first.value == std::prev(end)->first.value + 1; ++end)
            sum += end->second;
        for (; first != end; ++first) together[first->first] = sum;
    }
    return together;
}

/// The slowest one, of those that others did not take if there are any.
Choice chosen(const RuleInput& input) {
    std::set<StepIndex> steps;
    for (const SlowStep& step : input.slow.slow) steps.insert(step.step);
    const auto taken = takenTogether(coresTaken(input.summary, input.rows, steps));
    const Duration median{static_cast<std::int64_t>(input.slow.medianNs)};
    const auto weight = [](const SlowStep& step, const CoresTaken& of) {
        return std::pair(!of.isMost(), step.range.duration());
    };
    Choice choice;
    for (const SlowStep& step : input.slow.slow) {
        const auto known = taken.find(step.step);
        const bool isTaken = known != taken.end() && known->second.isMost();
        if (!isTaken) choice.unexplained += step.range.duration() - median;
        if (known == taken.end()) continue;
        if (choice.step == nullptr ||
            weight(step, known->second) > weight(*choice.step, choice.taken)) {
            choice.step = &step;
            choice.taken = known->second;
        }
    }
    return choice;
}

std::string takenText(const CoresTaken& taken) {
    const auto& reason = *entryOf(StretchReason::kCoresTaken);
    return fmt::format(" Why: {} ({:.0f} % of what it took more). {}", reason.word,
                       100 * taken.share(), reason.definition);
}

}  // namespace

MaybeFinding findSlowStep(const RuleInput& input) {
    const Choice choice = chosen(input);
    const SlowStep* slow = choice.step;
    if (slow == nullptr) return std::nullopt;
    const bool isTaken = choice.taken.isMost();
    const auto& rows = input.rows.at(slow->step);
    const LedgerRow& row = **std::max_element(
        rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->wall < b->wall; });
    const LedgerParts typical = medianParts(input.report.ledger, row.rank);
    const std::size_t grown = grownPart(row, typical);
    const Duration wall = slow->range.duration();
    const Duration median{static_cast<std::int64_t>(input.slow.medianNs)};
    RunFinding finding;
    finding.code = "slow-step";
    const std::size_t more = input.slow.slow.size() - 1;
    finding.title = fmt::format("Step {} took {:.1f} x the median", slow->step.value,
                                static_cast<double>(wall.ns) / input.slow.medianNs);
    if (more > 0)
        finding.title += fmt::format(", and {} more of {} steps over {:.0f} x", more,
                                     input.slow.steps, kSlowStepFactor);
    finding.detail = fmt::format(
        "{} instead of {}; most of it in {} of rank {} ({} instead of {}). {} of {} steps are "
        "over twice the median. Warm-up and steps with evaluation, checkpoint or sample are not "
        "compared.",
        durationText(wall), durationText(median), toWord(static_cast<LedgerPart>(grown)),
        row.rank.value, durationText(row.parts[grown]), durationText(typical[grown]),
        input.slow.slow.size(), input.slow.steps);
    if (isTaken) finding.detail += takenText(choice.taken);
    finding.remedy = isTaken ? entryOf(StretchReason::kCoresTaken)->remedy
                             : "look in the timeline at what that rank did in it, and at what "
                               "else ran on the machine then";
    Duration cost;
    for (const SlowStep& each : input.slow.slow) cost += each.range.duration() - median;
    finding.cost = Duration{cost.ns * static_cast<std::int64_t>(rows.size())};
    const Duration unexplained{choice.unexplained.ns * static_cast<std::int64_t>(rows.size())};
    finding.severity = isTaken ? Severity::kNote : severityOf(unexplained, input);
    finding.rank = row.rank;
    finding.steps = {slow->step, slow->step};
    finding.range = slow->range;
    finding.denominator = "median wall time of the compared steps";
    finding.evidence = {{"wall_ns", static_cast<double>(wall.ns)},
                        {"median_ns", input.slow.medianNs},
                        {"spread_ns", input.slow.spreadNs},
                        {"slow_steps", static_cast<double>(input.slow.slow.size())},
                        {"steps", static_cast<double>(input.slow.steps)},
                        {"cores_taken_ns", choice.taken.takenNs},
                        {"cores_taken_share", choice.taken.share()}};
    return finding;
}

}  // namespace shardscope::analysis
