#include "profiler/analysis/findings.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/rules/step_excess.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

/// One slow step, and why.
struct Judgement {
    const SlowStep* step = nullptr;
    SlowReason reason = SlowReason::kUnknown;
    std::optional<RankId> rank;  ///< who was slow; none: all, or it is not known
    bool isMachine = false;
    bool hasDetail = false;  ///< it is known what its time went to
    StepTimes excess;        ///< of the rank, or of all together
    CoresTaken taken;
};

/// CPU ranks of one host move data through the same memory: what moves for longer on one of them
/// was not moved.
bool sharesItsLink(const RecordingSummary& summary) {
    std::set<std::int32_t> hosts;
    for (const RankFacts& rank : summary.ranks) hosts.insert(rank.host);
    return hosts.size() <= 1 && summary.devices.empty();
}

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

/// Of a step without detail: what its rows tell of cores, against the other steps'.
bool isTakenByRows(const RuleInput& input, const SlowStep& step) {
    std::map<RankId, std::vector<std::int64_t>> waits;
    double waited = 0;
    for (const StepFacts& facts : input.summary.steps) {
        if (!input.steady.contains(facts.step) || facts.coreWaitNs < 0) continue;
        if (facts.step == step.step)
            waited = std::max(waited, static_cast<double>(facts.coreWaitNs));
        else
            waits[facts.rank].push_back(facts.coreWaitNs);
    }
    double usual = 0;
    for (auto& [rank, values] : waits)
        usual = std::max(usual, static_cast<double>(medianOf(std::move(values))));
    const double longer = static_cast<double>(step.range.duration().ns) - input.slow.medianNs;
    return longer > 0 && waited - usual >= kMostlyTaken * longer;
}

Judgement judge(const RuleInput& input, const SlowStep& step, const CoresTaken* taken) {
    Judgement judged;
    judged.step = &step;
    if (taken == nullptr) {
        judged.isMachine = isTakenByRows(input, step);
        if (judged.isMachine) judged.reason = SlowReason::kCoresTaken;
        return judged;
    }
    judged.hasDetail = true;
    judged.taken = *taken;
    const std::set<StepIndex> one{step.step};
    const Excess excess = excessOf(input, one);
    judged.rank = culpritOf(input, excess, one);
    judged.excess =
        judged.rank && excess.contains(*judged.rank) ? excess.at(*judged.rank) : sumOf(excess);
    judged.reason = reasonOf(judged.excess);
    if (judged.reason == SlowReason::kCommunication && judged.rank && sharesItsLink(input.summary))
        judged.reason = SlowReason::kNotRunning;
    if (taken->isMost()) judged.reason = SlowReason::kCoresTaken;
    judged.isMachine =
        judged.reason == SlowReason::kCoresTaken ||
        (judged.reason == SlowReason::kCompute && isOfTheMachine(input.summary, excess));
    return judged;
}

/// The slowest first.
std::vector<Judgement> judgeAll(const RuleInput& input) {
    std::set<StepIndex> steps;
    for (const SlowStep& step : input.slow.slow) steps.insert(step.step);
    const auto taken = takenTogether(coresTaken(input.summary, input.rows, steps));
    std::vector<Judgement> all;
    for (const SlowStep& step : input.slow.slow) {
        const auto found = taken.find(step.step);
        all.push_back(judge(input, step, found == taken.end() ? nullptr : &found->second));
    }
    std::stable_sort(all.begin(), all.end(), [](const Judgement& a, const Judgement& b) {
        return a.step->range.duration() > b.step->range.duration();
    });
    return all;
}

/// "5 cores taken, 2 not running, 1 unknown"
std::string groupedText(const std::vector<Judgement>& judged) {
    std::map<SlowReason, std::size_t> counts;
    for (std::size_t i = 1; i < judged.size(); ++i) ++counts[judged[i].reason];
    std::vector<std::string> parts;
    for (const auto& [reason, count] : counts)
        parts.push_back(fmt::format("{} {}", count, toWord(reason)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string whyText(const Judgement& slow) {
    if (!slow.hasDetail && slow.reason == SlowReason::kUnknown)
        return "Why is unknown: it was recorded without detail.";
    const auto& reason = *entryOf(slow.reason);
    const std::string late = !slow.hasDetail ? ""
                             : slow.rank     ? fmt::format("Rank {} was late. ", slow.rank->value)
                                             : "No single rank was late. ";
    const std::string share =
        slow.reason == SlowReason::kCoresTaken && slow.hasDetail
            ? fmt::format(" ({:.0f} % of what it took more)", 100 * slow.taken.share())
            : "";
    return fmt::format("{}Why: {}{}. {}", late, reason.word, share, reason.definition);
}

std::vector<SlowStepFound> reasonsOf(const std::vector<Judgement>& judged) {
    std::vector<SlowStepFound> found;
    for (const Judgement& slow : judged) found.push_back({slow.step->step, whyText(slow)});
    std::sort(found.begin(), found.end(),
              [](const SlowStepFound& a, const SlowStepFound& b) { return a.step < b.step; });
    return found;
}

/// Of all that are compared, over ranks, with detail or without.
Duration wallOfSteady(const RuleInput& input) {
    Duration wall;
    for (const StepFacts& facts : input.summary.steps)
        if (input.steady.contains(facts.step)) wall += facts.range().duration();
    return wall;
}

}  // namespace

MaybeFinding findSlowStep(const RuleInput& input, std::vector<SlowStepFound>& each) {
    if (input.slow.slow.empty()) return std::nullopt;
    const std::vector<Judgement> judged = judgeAll(input);
    each = reasonsOf(judged);
    const Judgement& worst = judged.front();
    const Duration wall = worst.step->range.duration();
    const Duration median{static_cast<std::int64_t>(input.slow.medianNs)};
    Duration cost, unexplained;
    for (const Judgement& slow : judged) {
        const Duration longer = slow.step->range.duration() - median;
        cost += longer;
        if (!slow.isMachine) unexplained += longer;
    }
    const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(1, input.ranks.size()));
    RunFinding finding;
    finding.code = "slow-step";
    finding.title = fmt::format("Step {} took {:.1f} x the median", worst.step->step.value,
                                static_cast<double>(wall.ns) / input.slow.medianNs);
    if (judged.size() > 1)
        finding.title += fmt::format("; {} more of {} steps took over {:.0f} x", judged.size() - 1,
                                     input.slow.steps, kSlowStepFactor);
    finding.detail = fmt::format("{} instead of {}. {}", durationText(wall), durationText(median),
                                 whyText(worst));
    if (judged.size() > 1) finding.detail += fmt::format(" The others: {}.", groupedText(judged));
    finding.remedy = worst.reason == SlowReason::kUnknown
                         ? "look in the timeline at what ranks did in it, and at what else ran on "
                           "the machine then"
                         : entryOf(worst.reason)->remedy;
    finding.cost = Duration{cost.ns * ranks};
    finding.severity = severityOf(Duration{unexplained.ns * ranks}, wallOfSteady(input));
    finding.rank = worst.rank;
    finding.steps = {worst.step->step, worst.step->step};
    finding.range = worst.step->range;
    finding.denominator = "median wall time of the compared steps";
    finding.evidence = {{"wall_ns", static_cast<double>(wall.ns)},
                        {"median_ns", input.slow.medianNs},
                        {"spread_ns", input.slow.spreadNs},
                        {"slow_steps", static_cast<double>(judged.size())},
                        {"steps", static_cast<double>(input.slow.steps)},
                        {"compute_excess_ns", worst.excess.of(TimeKind::kCompute)},
                        {"not_running_excess_ns", worst.excess.of(TimeKind::kAway)},
                        {"moving_excess_ns", worst.excess.of(TimeKind::kCommunication)},
                        {"cores_taken_ns", worst.taken.takenNs},
                        {"cores_taken_share", worst.taken.share()}};
    return finding;
}

}  // namespace shardscope::analysis
