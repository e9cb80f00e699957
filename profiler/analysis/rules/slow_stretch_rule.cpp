#include "profiler/analysis/findings.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// What a row's time is compared by; those without a part: see valueOf().
enum class Kind : std::uint8_t { kInput, kCompute, kHost, kCommunication, kWaiting, kAway, kWall };
constexpr std::size_t kKinds = 7;
using Kinds = std::array<double, kKinds>;

std::size_t placeOf(Kind kind) {
    return static_cast<std::size_t>(kind);
}

/// `processor`: of the step; 0 where it is not known, or says nothing.
Kinds kindsOf(const LedgerRow& row, Duration processor) {
    const auto sum = [&row](std::initializer_list<LedgerPart> parts) {
        std::int64_t ns = 0;
        for (const LedgerPart part : parts) ns += row.parts[at(part)].ns;
        return static_cast<double>(ns);
    };
    const Duration away = row.wall - blockedIn(row.parts) - processor;
    return {sum({LedgerPart::kData}),
            sum({LedgerPart::kCompute, LedgerPart::kOptimizer}),
            sum({LedgerPart::kOther, LedgerPart::kHostBound, LedgerPart::kLaunchBound,
                 LedgerPart::kCopies}),
            sum({LedgerPart::kExposedGather, LedgerPart::kExposedReduceScatter,
                 LedgerPart::kExposedAllReduce, LedgerPart::kExposedOther}),
            sum({LedgerPart::kWaiting}),
            processor.ns > 0 ? static_cast<double>(away.ns) : 0,
            static_cast<double>(row.wall.ns)};
}

/// What the rows of the stretch have more than the same rank's median outside, all together.
Kinds excessOf(const RuleInput& input, const std::set<StepIndex>& stretch) {
    std::map<std::pair<RankId, StepIndex>, Duration> processor;
    for (const StepFacts& step : input.summary.steps)
        processor[{step.rank, step.step}] = Duration{step.cpuTimeNs};
    // The host of a device waits without using a processor.
    std::set<RankId> devices;
    for (const DeviceFacts& device : input.summary.devices) devices.insert(device.rank);
    std::map<RankId, std::pair<std::vector<Kinds>, std::vector<Kinds>>> byRank;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows) {
            const bool knows = !devices.contains(row->rank);
            auto& [inside, outside] = byRank[row->rank];
            (stretch.contains(step) ? inside : outside)
                .push_back(kindsOf(*row, knows ? processor[{row->rank, step}] : Duration{}));
        }
    Kinds excess{};
    for (const auto& [rank, both] : byRank) {
        if (both.second.empty()) continue;
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
            std::vector<double> typical;
            for (const Kinds& row : both.second) typical.push_back(row[kind]);
            const double median = medianOf(std::move(typical));
            for (const Kinds& row : both.first) excess[kind] += row[kind] - median;
        }
    }
    return excess;
}

/// Whether most of it is waiting for one rank, which does not wait itself.
bool isWaiting(const RuleInput& input, double waiting, double wall) {
    const auto ranks = static_cast<double>(input.ranks.size());
    return ranks > 1 && waiting >= kLeastStretchReason * wall * (ranks - 1) / ranks;
}

StretchReason reasonOf(const Kinds& excess, const CoresTaken& taken) {
    if (taken.isMost()) return StretchReason::kCoresTaken;
    const double least = kLeastStretchReason * excess[placeOf(Kind::kWall)];
    if (excess[placeOf(Kind::kAway)] >= least) return StretchReason::kNotRunning;
    constexpr std::pair<Kind, StretchReason> kReasons[] = {
        {Kind::kInput, StretchReason::kInput},
        {Kind::kCompute, StretchReason::kCompute},
        {Kind::kHost, StretchReason::kHost},
        {Kind::kCommunication, StretchReason::kCommunication}};
    for (const auto& [kind, reason] : kReasons)
        if (excess[placeOf(kind)] >= least) return reason;
    return StretchReason::kUnknown;
}

}  // namespace

MaybeFinding findSlowStretch(const RuleInput& input) {
    if (input.rows.size() < kLeastStepsForSpread) return std::nullopt;
    const auto steps = slowOnes(input);
    if (!steps) return std::nullopt;
    const std::set<StepIndex> within = steps->within();
    const Stretch& stretch = steps->stretch;
    const Kinds excess = excessOf(input, within);
    const double waiting = excess[placeOf(Kind::kWaiting)], wall = excess[placeOf(Kind::kWall)];
    const CoresTaken taken = sumOf(coresTaken(input.summary, input.rows, within));
    // Where other programs take cores, which rank is later is chance.
    if (isWaiting(input, waiting, wall) && !taken.isMost())
        if (auto late = findLateRank(input, within)) return late;
    const StretchReason reason = reasonOf(excess, taken);
    RunFinding finding;
    finding.code = "slow-stretch";
    finding.title =
        fmt::format("Steps {} to {} take {:.1f} x as long as the rest", within.begin()->value,
                    within.rbegin()->value, stretch.inside / stretch.outside);
    finding.detail = fmt::format(
        "{} instead of {}, {} steps in a row of {} compared. Why: {}. {} {:.0f} % of what they "
        "take "
        "more is waiting for the slowest rank.",
        durationText(Duration{static_cast<std::int64_t>(stretch.inside)}),
        durationText(Duration{static_cast<std::int64_t>(stretch.outside)}), within.size(),
        steps->all.size(), toWord(reason), entryOf(reason)->definition,
        wall > 0 ? std::clamp(100 * waiting / wall, 0.0, 100.0) : 0);
    finding.remedy = entryOf(reason)->remedy;
    finding.cost = Duration{std::max<std::int64_t>(0, static_cast<std::int64_t>(wall))};
    finding.severity = taken.isMost() ? Severity::kNote : severityOf(*finding.cost, input);
    finding.steps = {*within.begin(), *within.rbegin()};
    finding.range = rangeOf(input.summary, *within.begin(), *within.rbegin());
    finding.denominator = "median wall time of the compared steps outside";
    finding.evidence = {{"inside_ns", stretch.inside},
                        {"outside_ns", stretch.outside},
                        {"factor", stretch.inside / stretch.outside},
                        {"steps_inside", static_cast<double>(within.size())},
                        {"steps", static_cast<double>(steps->all.size())},
                        {"compute_excess_ns", excess[placeOf(Kind::kCompute)]},
                        {"not_running_excess_ns", excess[placeOf(Kind::kAway)]},
                        {"moving_excess_ns", excess[placeOf(Kind::kCommunication)]},
                        {"waiting_excess_ns", waiting},
                        {"cores_taken_ns", taken.takenNs},
                        {"cores_taken_share", taken.share()}};
    return finding;
}

}  // namespace shardscope::analysis
