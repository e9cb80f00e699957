#include "profiler/analysis/findings.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/rules/step_excess.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Steps in their order, and which of them are the stretch.
struct Steps {
    std::vector<StepIndex> all;
    Stretch stretch;
    [[nodiscard]] std::set<StepIndex> within() const {
        const auto begin = all.begin();
        return {begin + static_cast<std::ptrdiff_t>(stretch.begin),
                begin + static_cast<std::ptrdiff_t>(stretch.end)};
    }
};

std::optional<Steps> slowOnes(const RuleInput& input) {
    Steps steps;
    std::vector<double> walls;
    for (const auto& [step, rows] : input.rows) {
        Duration longest;
        for (const LedgerRow* row : rows) longest = std::max(longest, row->wall);
        steps.all.push_back(step);
        walls.push_back(static_cast<double>(longest.ns));
    }
    const auto stretch = highStretch(walls, kSlowStretch);
    if (!stretch) return std::nullopt;
    steps.stretch = *stretch;
    return steps;
}

/// Whether most of it is waiting for one rank, which does not wait itself.
bool isWaiting(const RuleInput& input, double waiting, double wall) {
    const auto ranks = static_cast<double>(input.ranks.size());
    return ranks > 1 && waiting >= kLeastSlowReason * wall * (ranks - 1) / ranks;
}

}  // namespace

MaybeFinding findSlowStretch(const RuleInput& input) {
    if (input.rows.size() < kLeastStepsForSpread) return std::nullopt;
    const auto steps = slowOnes(input);
    if (!steps) return std::nullopt;
    const std::set<StepIndex> within = steps->within();
    const Stretch& stretch = steps->stretch;
    const Excess byRank = excessOf(input, within);
    const StepTimes excess = sumOf(byRank);
    const double waiting = excess.of(TimeKind::kWaiting), wall = excess.of(TimeKind::kWall);
    const CoresTaken taken = sumOf(coresTaken(input.summary, input.rows, within));
    // Where other programs take cores, which rank is later is chance.
    if (isWaiting(input, waiting, wall) && !taken.isMost())
        if (auto late = findLateRank(input, within)) return late;
    const SlowReason reason = taken.isMost() ? SlowReason::kCoresTaken : reasonOf(excess);
    const bool isMachine =
        reason == SlowReason::kCoresTaken ||
        (reason == SlowReason::kCompute && isOfTheMachine(input.summary, byRank));
    RunFinding finding;
    finding.code = "slow-stretch";
    finding.title =
        fmt::format("Steps {} to {} take {:.1f} x as long as the rest", within.begin()->value,
                    within.rbegin()->value, stretch.inside / stretch.outside);
    finding.detail = fmt::format(
        "{} instead of {}, {} steps in a row of {} compared. Why: {}. {}{} {:.0f} % of what they "
        "take more is waiting for the slowest rank.",
        durationText(Duration{static_cast<std::int64_t>(stretch.inside)}),
        durationText(Duration{static_cast<std::int64_t>(stretch.outside)}), within.size(),
        steps->all.size(), toWord(reason), entryOf(reason)->definition,
        isMachine && reason == SlowReason::kCompute
            ? " The same work took all ranks longer at once: it is the machine (clocks, or "
              "neighbours on its caches and memory)."
            : "",
        wall > 0 ? std::clamp(100 * waiting / wall, 0.0, 100.0) : 0);
    finding.remedy = entryOf(reason)->remedy;
    finding.cost = Duration{std::max<std::int64_t>(0, static_cast<std::int64_t>(wall))};
    finding.severity = isMachine ? Severity::kNote : severityOf(*finding.cost, input);
    finding.steps = {*within.begin(), *within.rbegin()};
    finding.range = rangeOf(input.summary, *within.begin(), *within.rbegin());
    finding.denominator = "median wall time of the compared steps outside";
    finding.evidence = {{"inside_ns", stretch.inside},
                        {"outside_ns", stretch.outside},
                        {"factor", stretch.inside / stretch.outside},
                        {"steps_inside", static_cast<double>(within.size())},
                        {"steps", static_cast<double>(steps->all.size())},
                        {"compute_excess_ns", excess.of(TimeKind::kCompute)},
                        {"not_running_excess_ns", excess.of(TimeKind::kAway)},
                        {"moving_excess_ns", excess.of(TimeKind::kCommunication)},
                        {"waiting_excess_ns", waiting},
                        {"cores_taken_ns", taken.takenNs},
                        {"cores_taken_share", taken.share()}};
    return finding;
}

}  // namespace shardscope::analysis
