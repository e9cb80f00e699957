#include "profiler/analysis/rules/late_rank.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace shardscope::analysis {
namespace {

std::string whyText(const LateCause& cause) {
    if (cause.reason == LateReason::kUnknown) return " Why is unknown.";
    return fmt::format(" Why: {} ({} more than the others). {}", toWord(cause.reason),
                       durationText(cause.excess), definition(cause.reason));
}

/// CPU ranks of one host move data through the same memory: no link is one rank's own. Of many
/// small collectives the rank that is woken last arrives last at the next.
bool sharesItsLink(RankId late, const RecordingSummary& summary) {
    std::set<std::int32_t> hosts;
    for (const RankFacts& rank : summary.ranks) hosts.insert(rank.host);
    return hosts.size() <= 1 &&
           std::none_of(summary.devices.begin(), summary.devices.end(),
                        [late](const DeviceFacts& device) { return device.rank == late; });
}

/// Whether the machine makes the rank late, as where others run on its core.
bool isOfTheMachine(LateReason reason, RankId late, const RecordingSummary& summary) {
    return reason == LateReason::kNoCore ||
           (reason == LateReason::kCommunication && sharesItsLink(late, summary));
}

}  // namespace

MaybeFinding findLateRank(const RuleInput& input, const std::set<StepIndex>& steps) {
    if (steps.empty()) return std::nullopt;
    const Report& report = input.report;
    const std::vector<LateRank> held = heldUpBy(input.collectives.blocked, report.ledger, steps);
    if (held.empty() || !held.front().isNamed()) return std::nullopt;
    const LateRank& late = held.front();
    const LateCause cause = whyLate(late, input.summary, report.ledger, steps, input.around);
    // Where others take cores now and then, which rank it hits is chance.
    if (!late.isRegular() &&
        (cause.reason == LateReason::kNoCore ||
         sumOf(coresTaken(input.summary, input.rows, late.heldUpSteps())).isMost()))
        return std::nullopt;
    RunFinding finding;
    finding.code = "late-rank";
    finding.title = fmt::format("Rank {} arrives last{}", late.rank.value,
                                late.isRegular() ? "" : " now and then");
    finding.detail =
        fmt::format("{} Longest single wait: {}.", lateSentence(late), durationText(late.longest)) +
        whyText(cause);
    finding.remedy =
        cause.reason == LateReason::kUnknown
            ? "compare its timeline with another rank's in the step of the longest wait"
            : remedy(cause.reason);
    finding.cost = late.cost();
    finding.severity =
        mayBeChance(late, cause) || isOfTheMachine(cause.reason, late.rank, input.summary)
            ? Severity::kNote
            : severityOf(*finding.cost, input);
    finding.rank = late.rank;
    finding.range = late.where;
    finding.steps = {*steps.begin(), *steps.rbegin()};
    finding.denominator = "wall time of the compared steps of the ranks that wait";
    finding.evidence = {{"blocked_ns", static_cast<double>(late.blocked.ns)},
                        {"share", late.share()},
                        {"steps_led", static_cast<double>(late.stepsLed)},
                        {"steps", static_cast<double>(late.steps)},
                        {"longest_ns", static_cast<double>(late.longest.ns)},
                        {"explained", late.explained()},
                        {"regular", late.isRegular() ? 1.0 : 0.0},
                        {"excess_ns", static_cast<double>(cause.excess.ns)}};
    return finding;
}

}  // namespace shardscope::analysis
