// A collective that is asked for too late although there was compute to hide it behind: of a gather
// before it was needed, of a reduction after its layer's gradients were complete, in either case at
// least as much as its data moves for. The first gather of a step and the last reduction have none,
// and are exposed in every run.
#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Times of one rank's steps, and its compute in them.
class HidingPlaces {
public:
    HidingPlaces(const RecordingSummary& summary, const RankEvents& events)
        : m_compute(phaseTime(events, [](Phase phase) {
              return isWork(phase) && phase != Phase::kOptimizer && phase != Phase::kClip;
          })) {
        for (const StepFacts& step : summary.steps)
            if (step.rank == events.rank) m_steps[step.step] = step.range();
        for (const SpanEvent& phase : events.phases)
            if (phase.phase == Phase::kBackward || phase.phase == Phase::kHead)
                m_backward.emplace_back(phase.step, phase.layer, phase.end());
        std::sort(m_backward.begin(), m_backward.end());
    }

    /// Whether compute enough lay where the collective could have been hidden.
    [[nodiscard]] bool canHide(const Exposure& exposure, Duration moved) {
        const auto step = m_steps.find(exposure.step);
        if (step == m_steps.end() || moved.ns <= 0) return false;
        const Timestamp met = exposure.range.end - moved;
        if (exposure.operation == CollectiveOp::kAllGather)
            return m_compute.within({step->second.begin, met}) >= moved;
        const auto complete = completeBefore(exposure);
        return complete && m_compute.within({*complete, step->second.end}) >= moved;
    }

private:
    /// When the layer's gradients were there: the last backward of it before the reduction.
    [[nodiscard]] std::optional<Timestamp> completeBefore(const Exposure& exposure) const {
        const Backward first{exposure.step, exposure.layer, Timestamp{kLeast}};
        const Backward bound{exposure.step, exposure.layer, exposure.range.begin};
        const auto after = std::upper_bound(m_backward.begin(), m_backward.end(), bound);
        if (after == m_backward.begin() || *std::prev(after) < first) return std::nullopt;
        return std::get<Timestamp>(*std::prev(after));
    }

    using Backward = std::tuple<StepIndex, LayerIndex, Timestamp>;  ///< when it ended
    static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    Coverage m_compute;
    std::map<StepIndex, TimeRange> m_steps;
    std::vector<Backward> m_backward;
};

/// Those that have somewhere to hide; of gradients and parameters.
bool isOfLayers(const Exposure& exposure) {
    const bool gather = exposure.operation == CollectiveOp::kAllGather &&
                        (exposure.cause == Cause::kDemand || exposure.cause == Cause::kPrefetch);
    return exposure.layer != kNoLayer && (gather || exposure.cause == Cause::kGradient);
}

std::string layerText(LayerIndex layer) {
    return layer == kRootLayer ? "embedding and head" : fmt::format("layer {}", layer.value);
}

struct Collected {
    Duration moving, hidden;  ///< of all that could be hidden
    Duration late;            ///< exposed while data moved, of those issued late
    std::map<StepIndex, Duration> lateByStep;
    std::int64_t count = 0;  ///< issued late
};
using Key = std::pair<CollectiveOp, LayerIndex>;

HideableTime::OfStep& ofStep(std::vector<HideableTime::OfStep>& steps, StepIndex step) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step,
                                     [](const auto& each, StepIndex s) { return each.step < s; });
    if (at != steps.end() && at->step == step) return *at;
    return *steps.insert(at, {step, {}, {}, {}, 0});
}

std::map<Key, Collected> collect(const RuleInput& input) {
    std::map<Key, Collected> collected;
    for (const auto& [key, steps] : input.collectives.hideable.byStep)
        for (const HideableTime::OfStep& each : steps) {
            if (!input.steps.contains(each.step)) continue;
            Collected& sum = collected[key];
            sum.moving += each.moving;
            sum.hidden += each.hidden;
            if (each.count == 0) continue;
            sum.late += each.late;
            sum.lateByStep[each.step] += each.late;
            sum.count += each.count;
        }
    return collected;
}

std::set<RankId> lookedAt(const std::vector<RankEvents>& ranks) {
    std::set<RankId> looked;
    for (std::size_t place = 0; place < ranks.size(); ++place)
        if (isLookedAt(place, ranks.size())) looked.insert(ranks[place].rank);
    return looked;
}

/// Of the ranks that are looked at.
std::map<StepIndex, Duration> wallsOf(const RuleInput& input, const std::set<RankId>& looked) {
    std::map<StepIndex, Duration> walls;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows)
            if (looked.contains(row->rank)) walls[step] += row->wall;
    return walls;
}

double hiddenOfOthers(const std::map<Key, Collected>& collected, Key key) {
    Duration hidden, all;
    for (const auto& [other, sum] : collected) {
        if (other.first != key.first || other == key) continue;
        hidden += sum.hidden;
        all += sum.hidden + sum.moving;
    }
    return all.ns > 0 ? static_cast<double>(hidden.ns) / static_cast<double>(all.ns) : 0;
}

std::size_t costlySteps(const Collected& sum, const std::map<StepIndex, Duration>& walls) {
    return static_cast<std::size_t>(
        std::count_if(sum.lateByStep.begin(), sum.lateByStep.end(), [&](const auto& each) {
            const auto wall = walls.find(each.first);
            return wall != walls.end() && static_cast<double>(each.second.ns) >=
                                              kLeastLateCost * static_cast<double>(wall->second.ns);
        }));
}

/// Whether ranks are blocked for so long that one collective can cost enough.
bool canCostEnough(const RuleInput& input) {
    Duration blocked;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows)
            blocked += blockedIn(row->parts) - row->parts[at(LedgerPart::kWaiting)];
    return static_cast<double>(blocked.ns) >=
           kRegularlyLate * kLeastLateCost * static_cast<double>(wallOf(input).ns);
}

using Entry = std::pair<const Key, Collected>;

/// The one that costs most of those that are late in nearly all steps; null: of none.
const Entry* worstOf(const std::map<Key, Collected>& collected,
                     const std::map<StepIndex, Duration>& walls, std::size_t steps) {
    const Entry* worst = nullptr;
    for (const Entry& each : collected) {
        const auto regular =
            static_cast<double>(costlySteps(each.second, walls)) / static_cast<double>(steps);
        if (regular < kRegularlyLate || hiddenOfOthers(collected, each.first) < kOthersHidden)
            continue;
        if (worst == nullptr || each.second.late > worst->second.late) worst = &each;
    }
    return worst;
}

}  // namespace

bool isLookedAt(std::size_t place, std::size_t ranks) {
    // every so-manieth; the first number whose place is not before this one
    const std::size_t count = std::min(ranks, kMostRanksLookedAt);
    if (count == 0) return false;
    const std::size_t number = (place * count + ranks - 1) / ranks;
    return number < count && number * ranks / count == place;
}

HideableTime hideableTime(const RecordingSummary& summary, const RankEvents& events) {
    HideableTime time;
    HidingPlaces places(summary, events);
    // whom a collective waited for is not asked
    forExposures(events, {}, {}, nullptr, [&](const Exposure& exposure) {
        if (!isOfLayers(exposure)) return;
        const Duration moved = exposure.range.duration() - exposure.waiting;
        if (!places.canHide(exposure, moved)) return;
        HideableTime::OfStep& sum =
            ofStep(time.byStep[{exposure.operation, exposure.layer}], exposure.step);
        sum.moving += exposure.moving;
        sum.hidden += exposure.hidden;
        if (exposure.reason != ExposureReason::kLate) return;
        sum.late += exposure.moving;
        ++sum.count;
    });
    return time;
}

void HideableTime::add(const HideableTime& other) {
    for (const auto& [key, steps] : other.byStep) {
        std::vector<OfStep>& own = byStep[key];
        const std::vector<OfStep> before = std::exchange(own, {});
        own.reserve(std::max(before.size(), steps.size()));
        auto next = before.begin();
        for (const OfStep& each : steps) {
            while (next != before.end() && next->step < each.step) own.push_back(*next++);
            own.push_back(each);
            if (next == before.end() || next->step != each.step) continue;
            own.back().moving += next->moving;
            own.back().hidden += next->hidden;
            own.back().late += next->late;
            own.back().count += next->count;
            ++next;
        }
        own.insert(own.end(), next, before.end());
    }
}

MaybeFinding findLateCollective(const RuleInput& input) {
    const std::size_t steps = input.rows.size();
    if (steps < kLeastStepsForSpread || !canCostEnough(input)) return std::nullopt;
    const std::set<RankId> ranks = lookedAt(input.ranks);
    const auto collected = collect(input);
    const auto walls = wallsOf(input, ranks);
    const Entry* worst = worstOf(collected, walls, steps);
    if (worst == nullptr) return std::nullopt;
    const auto& [key, sum] = *worst;
    const double others = hiddenOfOthers(collected, key);
    const std::size_t costly = costlySteps(sum, walls);
    const double scale =
        static_cast<double>(input.ranks.size()) / static_cast<double>(ranks.size());
    RunFinding finding;
    finding.code = "late-collective";
    finding.severity = Severity::kWarning;
    finding.title =
        fmt::format("The {} of {} is issued too late", toWord(key.first), layerText(key.second));
    finding.detail = fmt::format(
        "In {} of {} steps ranks are blocked for it for 5 % of the step or more, although there is "
        "compute to hide it behind; of the same operation {:.0f} % is hidden in other layers. It "
        "was late {} times, exposed for {} each.",
        costly, steps, 100 * others, sum.count,
        durationText(Duration{sum.late.ns / std::max<std::int64_t>(1, sum.count)}));
    finding.remedy = key.first == CollectiveOp::kAllGather
                         ? "prefetch this layer as the others are, or one layer earlier"
                         : "start it as soon as the layer's gradients are complete";
    finding.cost = Duration{static_cast<std::int64_t>(static_cast<double>(sum.late.ns) * scale)};
    finding.steps = {*input.steps.begin(), *input.steps.rbegin()};
    finding.denominator = "wall time of the compared steps";
    finding.evidence = {{"exposed_ns", static_cast<double>(sum.late.ns)},
                        {"costly_steps", static_cast<double>(costly)},
                        {"steps", static_cast<double>(steps)},
                        {"others_hidden", others},
                        {"layer", static_cast<double>(key.second.value)},
                        {"count", static_cast<double>(sum.count)},
                        {"ranks_looked_at", static_cast<double>(ranks.size())}};
    return finding;
}

}  // namespace shardscope::analysis
