#include "profiler/analysis/rules/late_rank.h"

#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/findings.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace shardscope::analysis {
namespace {

/// The rank that another waited for in a collective, as far as that is known.
std::optional<RankId> waitedFor(const CollectiveEvent& collective, RankId own,
                                LastArrivals& arrivals) {
    if (collective.step == kNoStep) return std::nullopt;
    if (collective.arrivals.size() != arrivals.members(collective.group).size())
        return std::nullopt;  // of some ranks nothing is recorded
    const LastArrival last = arrivals.of(collective);
    if (!last.rank || *last.rank == own || !last.certain) return std::nullopt;
    return last.rank;
}

/// Adds what a rank was blocked in the steps to those it waited for.
void addBlocked(const BlockedTime& blocked, const std::set<StepIndex>& steps,
                std::map<RankId, LateRank>& held,
                std::map<StepIndex, std::map<RankId, Duration>>& byStep) {
    for (const auto& [step, late, time] : blocked.steps) {
        if (!steps.contains(step)) continue;
        held[late].blocked += time;
        byStep[step][late] += time;
    }
    for (const BlockedTime::Longest& longest : blocked.longest) {
        const auto found = held.find(longest.late);
        if (found == held.end() || longest.time <= found->second.longest) continue;
        found->second.longest = longest.time;
        found->second.where = longest.collective;
    }
}

double ratio(Duration part, Duration whole) {
    return whole.ns <= 0 ? 0 : static_cast<double>(part.ns) / static_cast<double>(whole.ns);
}

using ByRank = std::map<RankId, Duration>;

struct AllHeldUp {
    HeldUpSteps longOnes, veryLongOnes;
};

void addStep(StepIndex step, HeldUpSteps& ofRank, HeldUpSteps& all, Duration blocked) {
    ofRank.steps.insert(step);
    ++ofRank.byRank;
    ofRank.time += blocked;
    ++all.byAny;
    all.timeOfAny += blocked;
}

/// Counts the steps that each rank led or held up for long; gives those that were held up by any,
/// each as often as there were such ranks.
AllHeldUp countSteps(const std::map<StepIndex, ByRank>& byStep,
                     const std::map<StepIndex, ByRank>& walls, std::map<RankId, LateRank>& held) {
    AllHeldUp all;
    for (const auto& [step, byRank] : byStep) {
        const auto worst =
            std::max_element(byRank.begin(), byRank.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        ++held[worst->first].stepsLed;
        const auto ofStep = walls.find(step);
        if (ofStep == walls.end()) continue;
        Duration whole;
        for (const auto& [rank, wall] : ofStep->second) whole += wall;
        for (const auto& [late, blocked] : byRank) {
            const auto own = ofStep->second.find(late);
            const Duration others = own == ofStep->second.end() ? whole : whole - own->second;
            LateRank& rank = held[late];
            const double share = ratio(blocked, others);
            if (share >= kLongHeldUp) addStep(step, rank.longOnes, all.longOnes, blocked);
            if (share >= kVeryLongHeldUp)
                addStep(step, rank.veryLongOnes, all.veryLongOnes, blocked);
        }
    }
    return all;
}

/// Kinds of a step's time that can make a rank late, with the parts that they are made of.
struct Kind {
    LateReason reason;
    std::initializer_list<LedgerPart> parts;
};
const std::array<Kind, 4> kKinds{{
    {LateReason::kInput, {LedgerPart::kData}},
    {LateReason::kCompute, {LedgerPart::kCompute, LedgerPart::kOptimizer}},
    {LateReason::kHost, {LedgerPart::kOther, LedgerPart::kHostBound, LedgerPart::kLaunchBound}},
    {LateReason::kCommunication,
     {LedgerPart::kExposedGather, LedgerPart::kExposedReduceScatter, LedgerPart::kExposedAllReduce,
      LedgerPart::kExposedOther}},
}};

std::int64_t timeOf(const LedgerRow& row, const Kind& kind) {
    std::int64_t sum = 0;
    for (const LedgerPart part : kind.parts) sum += row.parts[at(part)].ns;
    return sum;
}

/// Over the median of the other ranks in the same step, all steps together.
Duration excessOf(const Kind& kind, RankId rank, const std::vector<LedgerRow>& ledger,
                  const std::set<StepIndex>& steps) {
    std::map<StepIndex, std::pair<std::optional<std::int64_t>, std::vector<std::int64_t>>> times;
    for (const LedgerRow& row : ledger) {
        if (!steps.contains(row.step)) continue;
        auto& [own, others] = times[row.step];
        if (row.rank == rank)
            own = timeOf(row, kind);
        else
            others.push_back(timeOf(row, kind));
    }
    Duration excess;
    for (auto& [step, both] : times)
        if (both.first && !both.second.empty())
            excess += Duration{*both.first - medianOf(std::move(both.second))};
    return excess;
}

/// By rank: time of the steps in which it was at work and used no processor; of several threads at
/// least that. Nothing for ranks with a device, whose host waits, and where it was not recorded.
std::map<RankId, Duration> withoutProcessor(const RecordingSummary& summary,
                                            const std::vector<LedgerRow>& ledger,
                                            const std::set<StepIndex>& steps) {
    std::map<RankId, Duration> used, without;
    for (const StepFacts& step : summary.steps)
        if (steps.contains(step.step)) used[step.rank] += Duration{step.cpuTimeNs};
    for (const DeviceFacts& device : summary.devices) used.erase(device.rank);
    for (const auto& [rank, time] : used)
        if (time.ns > 0) without[rank] -= time;
    for (const LedgerRow& row : ledger) {
        const auto found = without.find(row.rank);
        if (found != without.end() && steps.contains(row.step))
            found->second += row.wall - blockedIn(row.parts);
    }
    return without;
}

/// What the late rank has of `without`, and more than the others.
Duration moreThanOthers(RankId rank, const std::map<RankId, Duration>& without) {
    const auto own = without.find(rank);
    std::vector<std::int64_t> others;
    for (const auto& [other, time] : without)
        if (other != rank) others.push_back(time.ns);
    if (own == without.end() || others.empty()) return {};
    return std::min(own->second, own->second - Duration{medianOf(std::move(others))});
}

/// By rank: time of the steps in which its step thread was ready to run and had no core. Nothing
/// for ranks of which it is not known of each step.
std::map<RankId, Duration> withoutCore(const RecordingSummary& summary,
                                       const std::set<StepIndex>& steps) {
    std::map<RankId, Duration> waited;
    std::set<RankId> unknown;
    for (const StepFacts& step : summary.steps) {
        if (!steps.contains(step.step)) continue;
        if (step.coreWaitNs < 0) unknown.insert(step.rank);
        waited[step.rank] += Duration{step.coreWaitNs};
    }
    for (const RankId rank : unknown) waited.erase(rank);
    return waited;
}

/// By rank, of these steps.
std::map<RankId, Duration> sumsOver(const std::set<StepIndex>& steps,
                                    const std::map<RankId, std::map<StepIndex, Duration>>& byStep) {
    std::map<RankId, Duration> sums;
    for (const auto& [rank, times] : byStep) {
        Duration& sum = sums[rank];
        for (const auto& [step, time] : times)
            if (steps.contains(step)) sum += time;
    }
    return sums;
}

bool hasLowClocks(RankId rank, const std::map<RankId, double>& clocks) {
    const auto own = clocks.find(rank);
    std::vector<double> others;
    for (const auto& [other, clock] : clocks)
        if (other != rank) others.push_back(clock);
    return own != clocks.end() && !others.empty() &&
           own->second < kLowClocks * medianOf(std::move(others));
}

}  // namespace

double LateRank::share() const {
    return ratio(blocked, othersWall);
}

double LateRank::explained() const {
    return ratio(blocked, blockedByAnybody);
}

double LateRank::regular() const {
    return steps == 0 ? 0 : static_cast<double>(stepsLed) / static_cast<double>(steps);
}

bool HeldUpSteps::areOfRank(std::size_t least) const {
    return byRank >= least &&
           static_cast<double>(byAny - byRank) <= kMostOfOthers * static_cast<double>(byAny) &&
           ratio(time, timeOfAny) >= kLeastExplained;
}

bool LateRank::isNamed() const {
    if (steps < kLeastSteps || share() < kLeastBlockedShare) return false;
    return isRegular() || isNowAndThen();
}

bool LateRank::isRegular() const {
    return regular() >= kRegularSteps && explained() >= kLeastExplained;
}

std::set<StepIndex> comparedSteps(const std::vector<LedgerRow>& ledger,
                                  const std::set<StepIndex>& steady) {
    std::set<StepIndex> steps;
    for (const LedgerRow& row : ledger)
        if (steady.contains(row.step)) steps.insert(row.step);
    return steps;
}

std::string lateSentence(const LateRank& late) {
    if (late.isRegular())
        return fmt::format(
            "In {} of {} steps the others waited longest for it; their step threads were blocked "
            "for {:.1f} % of their time, {} in all.",
            late.stepsLed, late.steps, 100 * late.share(), durationText(late.blocked));
    const bool very = late.veryLongOnes.areOfRank(kLeastVeryLongSteps);
    const HeldUpSteps& held = very ? late.veryLongOnes : late.longOnes;
    return fmt::format(
        "{} of {} steps were held up by it for {:.0f} % of the step or more, and {} by any other "
        "rank; the others' step threads were blocked for {:.1f} % of their time, {} in all.",
        held.byRank, late.steps, 100 * (very ? kVeryLongHeldUp : kLongHeldUp),
        held.byAny - held.byRank, 100 * late.share(), durationText(late.blocked));
}

bool LateRank::isNowAndThen() const {
    return longOnes.areOfRank(kLeastLongSteps) || veryLongOnes.areOfRank(kLeastVeryLongSteps);
}

Duration LateRank::lateness() const {
    return others == 0 ? Duration{} : Duration{blocked.ns / static_cast<std::int64_t>(others)};
}

BlockedTime blockedTime(const RankEvents& events, LastArrivals& arrivals) {
    std::map<RankId, BlockedTime::Longest> longests;
    const Intervals waits = phaseTime(events, isWait);
    std::map<std::pair<StepIndex, RankId>, std::vector<TimeRange>> parts;
    for (const CollectiveEvent& collective : events.collectives) {
        const auto late = waitedFor(collective, events.rank, arrivals);
        if (!late) continue;
        const TimeRange idle{collective.start, collective.lastArrival()};
        auto wait = std::lower_bound(
            waits.begin(), waits.end(), idle.begin,
            [](const TimeRange& range, Timestamp time) { return range.end <= time; });
        for (; wait != waits.end() && wait->begin < idle.end; ++wait) {
            const TimeRange part = wait->intersection(idle);
            parts[{collective.step, *late}].push_back(part);
            auto& longest = longests[*late];
            if (part.duration() > longest.time)
                longest = {*late, part.duration(), {collective.start, collective.end}};
        }
    }
    BlockedTime blocked;
    blocked.steps.reserve(parts.size());
    for (auto& [key, ranges] : parts)
        blocked.steps.push_back({key.first, key.second, total(unionOf(std::move(ranges)))});
    for (const auto& [late, longest] : longests) blocked.longest.push_back(longest);
    return blocked;
}

std::vector<LateRank> heldUpBy(const std::vector<RankEvents>& ranks,
                               const std::vector<LedgerRow>& ledger,
                               const std::set<StepIndex>& steps, const HostClocks& clocks) {
    LastArrivals arrivals(ranks, clocks);
    std::vector<BlockedTime> blocked;
    for (const RankEvents& events : ranks) blocked.push_back(blockedTime(events, arrivals));
    return heldUpBy(blocked, ledger, steps);
}

std::vector<LateRank> heldUpBy(const std::vector<BlockedTime>& ranks,
                               const std::vector<LedgerRow>& ledger,
                               const std::set<StepIndex>& steps) {
    std::map<RankId, LateRank> held;
    std::map<StepIndex, std::map<RankId, Duration>> byStep;
    for (const BlockedTime& blocked : ranks) addBlocked(blocked, steps, held, byStep);
    Duration everybody, wall;
    std::map<RankId, Duration> walls;
    std::map<StepIndex, std::map<RankId, Duration>> stepWalls;
    for (const LedgerRow& row : ledger) {
        if (!steps.contains(row.step)) continue;
        wall += row.wall;
        walls[row.rank] += row.wall;
        stepWalls[row.step][row.rank] += row.wall;
    }
    const AllHeldUp all = countSteps(byStep, stepWalls, held);
    for (const auto& [rank, late] : held) everybody += late.blocked;
    std::vector<LateRank> worstFirst;
    for (auto& [rank, late] : held) {
        late.rank = rank;
        late.steps = steps.size();
        late.others = ranks.size() - 1;
        late.blockedByAnybody = everybody;
        late.othersWall = wall - walls[rank];
        late.longOnes.byAny = all.longOnes.byAny;
        late.longOnes.timeOfAny = all.longOnes.timeOfAny;
        late.veryLongOnes.byAny = all.veryLongOnes.byAny;
        late.veryLongOnes.timeOfAny = all.veryLongOnes.timeOfAny;
        worstFirst.push_back(late);
    }
    std::stable_sort(worstFirst.begin(), worstFirst.end(),
                     [](const auto& a, const auto& b) { return a.blocked > b.blocked; });
    return worstFirst;
}

LateCause whyLate(const LateRank& late, const RecordingSummary& summary,
                  const std::vector<LedgerRow>& ledger, const std::set<StepIndex>& steps,
                  const Surroundings& around) {
    LateCause cause;
    const Duration lateness = late.lateness();
    for (const Kind& kind : kKinds) {
        const Duration excess = excessOf(kind, late.rank, ledger, steps);
        if (excess <= cause.excess || ratio(excess, lateness) < kLeastReason) continue;
        cause = {kind.reason, excess};
    }
    const Duration memory = moreThanOthers(late.rank, sumsOver(steps, around.driverMemory));
    if (ratio(memory, lateness) >= kLeastReason) return {LateReason::kMemory, memory};
    const Duration away = moreThanOthers(late.rank, withoutProcessor(summary, ledger, steps));
    const Duration waited = moreThanOthers(late.rank, withoutCore(summary, steps));
    if (ratio(waited, lateness) >= kLeastReason) return {LateReason::kNoCore, waited};
    if (ratio(away, lateness) >= kLeastReason && cause.reason != LateReason::kCommunication)
        return {LateReason::kNotRunning, away};
    if (cause.reason == LateReason::kCompute && hasLowClocks(late.rank, around.deviceClocks))
        cause.reason = LateReason::kClocks;
    return cause;
}

}  // namespace shardscope::analysis
