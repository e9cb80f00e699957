// The questions a report answers, one function and one file each. Internal to profiler/analysis.
#pragma once

#include "profiler/analysis/intervals.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::analysis {

// The median, as everything here means it.

/// Of an unordered, non-empty list; the mean of the middle two when even.
template <class T>
[[nodiscard]] T medianOf(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

[[nodiscard]] inline Duration medianOf(std::vector<Duration> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    const Duration below = *std::max_element(values.begin(), middle);
    return {below.ns + (*middle - below).ns / 2};
}

class LastArrivals;

/// Whether steps say what of a rank's time is training. Traces of servers and of a profiler
/// without a schedule have none.
[[nodiscard]] bool hasSteps(const RecordingSummary& summary, const RankEvents& events);
/// Time of a rank that belongs to training: its steps without validation passes. Without steps,
/// from its first kernel or collective to the end of the last.
[[nodiscard]] Intervals trainingTime(const RecordingSummary& summary, const RankEvents& events);
/// Of a rank's collectives, and of its device's kernels that communicate.
[[nodiscard]] Intervals communicatingTime(const RankEvents& events);
/// Of the step thread's work; without phases of compute kernels.
[[nodiscard]] Intervals computingTime(const RankEvents& events);
/// [start, last arrival) of a rank's collectives: time that no data could move.
[[nodiscard]] Intervals waitingTime(const RankEvents& events);
/// In order of their starts; equal ones as they are.
[[nodiscard]] std::vector<const CollectiveEvent*> byStart(
    const std::vector<CollectiveEvent>& collectives);
/// Intervals of the phases for which `wanted` is true.
template <class Wanted>
[[nodiscard]] Intervals phaseTime(const RankEvents& events, Wanted wanted) {
    std::vector<TimeRange> ranges;
    ranges.reserve(events.phases.size());
    for (const SpanEvent& phase : events.phases)
        if (wanted(phase.phase)) ranges.push_back(phase.range());
    return unionOf(std::move(ranges));
}

using StepOverlaps = std::map<StepIndex, StepOverlap>;
/// Adds the rank's part of each step to `steps` as well.
[[nodiscard]] Overlap rankOverlap(const RecordingSummary& summary, const RankEvents& events,
                                  StepOverlaps& steps);
/// How long a collective's data would move; nothing: as long as it did.
using MovingTime = std::function<std::optional<Duration>(const CollectiveEvent&)>;
/// Fills in what a perfect run of the same schedule would hide; with `moving` over another link.
void addOverlapLimit(const RankEvents& events, const Intervals& training, Overlap& overlap,
                     const MovingTime& moving = {});
[[nodiscard]] Overlap sumOf(const std::vector<Overlap>& overlaps);

/// Rows of the steps of one rank whose phases were recorded.
[[nodiscard]] std::vector<LedgerRow> rankLedger(const RecordingSummary& summary,
                                                const RankEvents& events);
/// The same, but for steps that are among `deviceRows`, of any ranks: those rows stand instead.
[[nodiscard]] std::vector<LedgerRow> rankLedger(const RecordingSummary& summary,
                                                const RankEvents& events,
                                                const std::vector<LedgerRow>& deviceRows);

[[nodiscard]] RankMemory rankMemory(const RecordingSummary& summary, const RankEvents& events);

struct LateRanks {
    std::vector<WaitingForRank> named;  ///< worst first
    UnknownWaits unknown;
};
[[nodiscard]] LateRanks lateRanks(const std::vector<RankEvents>& ranks,
                                  const HostClocks& clocks = {});

/// What one rank waited in collectives, by whom for.
struct RankWaits {
    using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< group, sequence
    struct Waits {
        Duration waited;
        std::vector<Key> collectives;  ///< each once, in order
    };
    std::map<RankId, Waits> forRank;
    Waits unknown;  ///< hosts' clocks are in doubt by more
};
/// Of the steps' among `collectives`, whole ones of one rank.
[[nodiscard]] RankWaits waitsOf(const std::vector<CollectiveEvent>& collectives,
                                LastArrivals& last);
/// lateRanks() of ranks that are added one at a time.
class WaitTally {
public:
    void add(const RankWaits& waits);
    [[nodiscard]] LateRanks lateRanks() const;

private:
    RankWaits m_all;
};

/// What one rank recorded of a step.
struct RecordedCounts {
    std::int32_t gathers = 0, reductions = 0, exchanges = 0, phases = 0;
};
using RecordedSteps = std::map<StepIndex, RecordedCounts>;
[[nodiscard]] RecordedSteps recordedSteps(const RankEvents& events);
[[nodiscard]] Completeness certify(const RecordingSummary& summary,
                                   std::map<RankId, RecordedSteps> recorded);
/// Of all ranks at once.
[[nodiscard]] Completeness certify(const RecordingSummary& summary,
                                   const std::vector<RankEvents>& ranks);

/// Whether other ranks run on the same device, so that its times are theirs too.
[[nodiscard]] bool sharesDevice(const RecordingSummary& summary, RankId rank);
/// What a rank's device did within training time; nothing for a CPU rank. `copies`: of the device,
/// sets of memory too, in any order.
[[nodiscard]] std::optional<DeviceUse> deviceUse(const RecordingSummary& summary,
                                                 const RankEvents& events,
                                                 std::vector<TimeRange> copies = {});
/// Model FLOP/s (palm) over what matrix products reached on these devices before the first step.
[[nodiscard]] std::optional<double> measuredPeakUse(const RecordingSummary& summary,
                                                    std::optional<double> tokensPerSecond);

/// Whether a step in which a rank does this is not compared with others: it takes longer of
/// necessity.
[[nodiscard]] constexpr bool setsAside(Phase phase) {
    return phase == Phase::kEvaluation || phase == Phase::kCheckpoint || phase == Phase::kSample;
}
/// Steps within which some rank did. One that is followed by it, as in runs of ours, is as any
/// other.
[[nodiscard]] std::set<StepIndex> stepsSetAside(const RecordingSummary& summary,
                                                const std::vector<RankEvents>& ranks);
/// A step over all ranks.
struct WholeStep {
    TimeRange range;  ///< from the first rank's beginning to the last one's end
    std::int64_t tokens = 0;
    std::int32_t ranks = 0;
};
/// Steps that speak for a run, the same for everything that is said of it: finished by all ranks,
/// behind the warm-up where there are enough, and with no validation, checkpoint or sample within
/// them unless all have one.
struct SteadySteps {
    std::map<StepIndex, WholeStep> steps;
    std::int32_t warmupStepsLeftOut = 0;
};
[[nodiscard]] SteadySteps steadySteps(const RecordingSummary& summary,
                                      const std::vector<RankEvents>& ranks);

/// Of these, those that have phases and collectives on every rank: of the others it is known how
/// long they took, and nothing of what in.
[[nodiscard]] SteadySteps steadyWithDetail(const RecordingSummary& summary,
                                           const std::vector<RankEvents>& ranks);

struct Throughput {
    /// Median over the steps of tokens / time; absent where they do not say how many they have.
    std::optional<double> tokensPerSecond;
    /// Of all whole steps, warm-up and validation too, over the time from the first one's beginning
    /// to the last one's end.
    std::optional<double> wholeTokensPerSecond;
    std::optional<double> stepSecondsMedian;
    std::int32_t warmupStepsLeftOut = 0;
    std::int32_t steps = 0;  ///< that it is of
};
[[nodiscard]] Throughput measureThroughput(const RecordingSummary& summary,
                                           const std::vector<RankEvents>& ranks);
/// Their peak and where it is from, or the reason that there is none.
[[nodiscard]] Mfu peakOfRanks(const RecordingSummary& summary);
/// Of a run of our own, whose model is known.
[[nodiscard]] Mfu modelFlopsUtilisation(const RecordingSummary& summary,
                                        std::optional<double> tokensPerSecond);

}  // namespace shardscope::analysis
