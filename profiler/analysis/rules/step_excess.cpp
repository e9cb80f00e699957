#include "profiler/analysis/rules/step_excess.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

/// `processor`: of the step; 0 where it is not known, or says nothing.
StepTimes timesOf(const LedgerRow& row, Duration processor) {
    const auto sum = [&row](std::initializer_list<LedgerPart> parts) {
        std::int64_t ns = 0;
        for (const LedgerPart part : parts) ns += row.parts[at(part)].ns;
        return static_cast<double>(ns);
    };
    const Duration away = row.wall - blockedIn(row.parts) - takenFrom(row.parts) - processor;
    return {{sum({LedgerPart::kData}), sum({LedgerPart::kCompute, LedgerPart::kOptimizer}),
             sum({LedgerPart::kOther, LedgerPart::kHostBound, LedgerPart::kLaunchBound,
                  LedgerPart::kCopies}),
             sum({LedgerPart::kExposedGather, LedgerPart::kExposedReduceScatter,
                  LedgerPart::kExposedAllReduce, LedgerPart::kExposedOther}),
             static_cast<double>(takenFrom(row.parts).ns),
             processor.ns > 0 ? static_cast<double>(away.ns) : 0, sum({LedgerPart::kWaiting}),
             static_cast<double>(row.wall.ns)}};
}

struct RankTimes {
    std::vector<StepTimes> inside, outside;
};

std::map<RankId, RankTimes> timesByRank(const RuleInput& input, const std::set<StepIndex>& steps) {
    std::map<std::pair<RankId, StepIndex>, Duration> processor;
    for (const StepFacts& step : input.summary.steps)
        processor[{step.rank, step.step}] = Duration{step.cpuTimeNs};
    // The host of a device waits without using a processor.
    for (const DeviceFacts& device : input.summary.devices)
        std::erase_if(processor, [&](const auto& each) { return each.first.first == device.rank; });
    std::map<RankId, RankTimes> byRank;
    for (const auto& [step, rows] : input.rows)
        for (const LedgerRow* row : rows) {
            RankTimes& times = byRank[row->rank];
            const auto used = processor.find({row->rank, step});
            (steps.contains(step) ? times.inside : times.outside)
                .push_back(timesOf(*row, used == processor.end() ? Duration{} : used->second));
        }
    return byRank;
}

}  // namespace

StepTimes& StepTimes::operator+=(const StepTimes& other) {
    for (std::size_t i = 0; i < kTimeKinds; ++i) ns[i] += other.ns[i];
    return *this;
}

Excess excessOf(const RuleInput& input, const std::set<StepIndex>& steps) {
    Excess excess;
    for (const auto& [rank, times] : timesByRank(input, steps)) {
        if (times.inside.empty() || times.outside.empty()) continue;
        StepTimes& own = excess[rank];
        for (std::size_t kind = 0; kind < kTimeKinds; ++kind) {
            std::vector<double> typical;
            for (const StepTimes& each : times.outside) typical.push_back(each.ns[kind]);
            const double median = medianOf(std::move(typical));
            for (const StepTimes& each : times.inside) own.ns[kind] += each.ns[kind] - median;
        }
    }
    return excess;
}

StepTimes sumOf(const Excess& excess) {
    StepTimes sum;
    for (const auto& [rank, times] : excess) sum += times;
    return sum;
}

SlowReason reasonOf(const StepTimes& excess) {
    const double least = kLeastSlowReason * excess.own();
    if (least <= 0) return SlowReason::kUnknown;
    constexpr std::pair<TimeKind, SlowReason> kReasons[] = {
        {TimeKind::kTaken, SlowReason::kCoresTaken},
        {TimeKind::kAway, SlowReason::kNotRunning},
        {TimeKind::kInput, SlowReason::kInput},
        {TimeKind::kCompute, SlowReason::kCompute},
        {TimeKind::kHost, SlowReason::kHost},
        {TimeKind::kCommunication, SlowReason::kCommunication}};
    for (const auto& [kind, reason] : kReasons)
        if (excess.of(kind) >= least) return reason;
    return SlowReason::kUnknown;
}

bool isOfTheMachine(const RecordingSummary& summary, const Excess& excess) {
    if (!run::parseRunConfigJson(summary.run.configJson)) return false;
    double least = 0, most = 0;
    bool first = true;
    for (const auto& [rank, times] : excess) {
        const double value = times.of(TimeKind::kCompute);
        least = first ? value : std::min(least, value);
        most = first ? value : std::max(most, value);
        first = false;
    }
    return !first && most > 0 && least >= kLeastSlowReason * most;
}

std::optional<RankId> culpritOf(const RuleInput& input, const Excess& excess,
                                const std::set<StepIndex>& steps) {
    if (excess.size() < 2) return std::nullopt;
    std::map<RankId, Duration> held;
    for (const BlockedTime& blocked : input.collectives.blocked)
        for (const BlockedTime::OfStep& each : blocked.steps)
            if (steps.contains(each.step)) held[each.late] += each.time;
    if (held.empty()) return std::nullopt;
    const auto worst = std::max_element(
        held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    double others = 0;
    for (const auto& [rank, times] : excess)
        if (rank != worst->first) others += times.of(TimeKind::kWall);
    if (static_cast<double>(worst->second.ns) < kLeastSlowReason * others) return std::nullopt;
    return worst->first;
}

}  // namespace shardscope::analysis
