// The report of one recording: everything `shardscope report` prints and the Overview shows.
// Pure: rows and events in, findings out. Half-open intervals, unions before sums, exact int64.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/device/hta_compatible.h"
#include "profiler/analysis/memory/memory_steps.h"
#include "profiler/analysis/rules/surroundings.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "profiler/analysis/steps/ledger.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"
#include "storage/model/run_label.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::analysis {

struct Overlap {
    Duration communication;  ///< union of collectives and of kernels that communicate
    Duration hidden;         ///< of it, covered by compute of the same rank
    Duration exposed;        ///< communication - hidden
    Duration waiting;        ///< of communication, before the last rank arrived
    Duration moving;         ///< communication - waiting
    Duration hiddenMoving;   ///< of moving, covered by compute of the same rank
    /// The same if neither step thread nor link ever paused (overlap_limit.cpp).
    Duration limitCommunication;
    Duration limitHidden;
    /// Of every collective when each rank arrived; false: waiting, moving and hiddenMoving say
    /// nothing.
    bool waitingKnown = true;
    /// False: when the rank computed is not recorded, so that hidden and exposed say nothing.
    bool computeKnown = true;
    /// hidden / communication; absent without communication, and where it is not known
    [[nodiscard]] std::optional<double> ratio() const {
        return computeKnown ? share(hidden, communication) : std::nullopt;
    }
    /// Of limit(), for moving data alone: the limit knows no waiting. Absent without one.
    [[nodiscard]] std::optional<double> reachedOfLimit() const {
        const auto most = limit(), moved = share(hiddenMoving, moving);
        if (!most || !moved || *most <= 0) return std::nullopt;
        return *moved / *most;
    }
    /// What the schedule could reach; absent where it is not known.
    [[nodiscard]] std::optional<double> limit() const {
        return share(limitHidden, limitCommunication);
    }

private:
    static std::optional<double> share(Duration part, Duration whole) {
        if (whole.ns == 0) return std::nullopt;
        return static_cast<double>(part.ns) / static_cast<double>(whole.ns);
    }
};

/// Of all ranks together within one step, as Overlap counts it.
struct StepOverlap {
    StepIndex step = kNoStep;
    Duration communication;
    Duration hidden;
    bool computeKnown = true;  ///< on all ranks
    StepOverlap& operator+=(const StepOverlap& other) {
        step = other.step;
        communication += other.communication;
        hidden += other.hidden;
        computeKnown = computeKnown && other.computeKnown;
        return *this;
    }
};

struct Mfu {
    std::optional<double> value;
    std::string variant = "palm";
    std::optional<double> peakFlops;  ///< of all ranks
    std::string peakSource;
    bool unsure = false;  ///< a peak was measured and is not to be relied on
    std::string reason;   ///< when value is absent
    // Of programs that are not ours (device/program_flops.h), where they are known.
    std::optional<double> flopsPerSecond, flopsPerStep;  ///< of all ranks, as `variant` counts
    std::optional<double> hardware;                      ///< HFU
    struct OfStep {
        StepIndex step;
        double value = 0, hardware = 0;
    };
    std::vector<OfStep> steps;  ///< counted by its operators, in their order; none: unknown
};

/// A step of a rank that recorded another number of something than its strategy must have.
struct CountGap {
    RankId rank;
    StepIndex step;
    const char* what = "";  ///< "gathers", "reductions", "phases"
    std::int32_t expected = 0, recorded = 0;
};

struct Completeness {
    bool complete = false;
    bool known = false;                ///< false: capture level too low to tell
    std::vector<std::string> missing;  ///< sentences
    std::int64_t compared = 0;         ///< numbers of a step that were held against the strategy's
    std::int64_t different = 0;        ///< of these
    std::vector<CountGap> gaps;        ///< the first kMostGaps of them
    static constexpr std::size_t kMostGaps = 1000;
};

struct RankMemory {
    RankId rank;
    Bytes peak;
    Timestamp peakTime;
    std::array<Bytes, kMemoryCategoryCount> byCategory{};  ///< at the peak
    Bytes theory;  ///< of what the allocator holds; knows nothing of kOutside
    std::array<Bytes, kMemoryCategoryCount> theoryByCategory{};
    bool known = false;
    /// What theory speaks of: the peak without memory outside the allocator.
    [[nodiscard]] Bytes managed() const {
        return peak - byCategory[static_cast<std::size_t>(MemoryCategory::kOutside)];
    }
};

/// A rank's device within training time, by its kernels. Times are unions: two kernels at the same
/// time count once.
struct DeviceUse {
    DeviceFacts device;
    bool traced = false;       ///< the recording has kernels of it, at whatever time
    std::int64_t kernels = 0;  ///< begun within training time
    Duration compute;
    Duration communication;  ///< kernels of collectives, waiting inside them included
    Duration hidden;         ///< of it, behind compute kernels
    Duration idle;           ///< no kernel at all
    Duration copies;         ///< of idle, the ledger's part of that name (device_ledger.h)
    [[nodiscard]] Duration whole() const { return compute + communication - hidden + idle; }
    /// Neither kernels nor copies.
    [[nodiscard]] Duration unused() const { return idle - copies; }
    std::optional<double> joulesPerStep;  ///< of the whole device, sampled
    std::optional<double> joulesPerToken;
    /// hidden / communication, HTA's definition (hta/analyzers/communication_analysis.py)
    [[nodiscard]] std::optional<double> overlap() const {
        if (communication.ns == 0) return std::nullopt;
        return static_cast<double>(hidden.ns) / static_cast<double>(communication.ns);
    }
};

struct WaitingForRank {
    RankId late;      ///< last to arrive most often
    Duration waited;  ///< by all others together
    std::int64_t collectives = 0;
};

/// Ranges of the host around collectives, of one name and all ranks.
struct MarkedCollective {
    std::string name;
    std::int64_t count = 0;
    Duration total;  ///< of their durations
};

/// Of collectives across hosts whose last rank was late by less than clocks are in doubt.
struct UnknownWaits {
    Duration waited;  ///< by all ranks together
    std::int64_t collectives = 0;
};

/// Something about the run that is worth a look (run_findings.h).
struct RunFinding {
    struct Number {
        const char* name;  ///< with its unit: "blocked_ns", "share"
        double value;
    };
    std::string code;  ///< "late-rank", "slow-step", "memory-above-theory"
    Severity severity = Severity::kNote;
    std::string title;
    std::string detail;  ///< sentences
    std::string remedy;  ///< what to try, without a full stop; empty: nothing is known
    /// Of all ranks together, what the run would have taken less; absent where it costs no time.
    std::optional<Duration> cost;
    std::vector<Number> evidence;
    std::string denominator;  ///< what shares and factors are of
    std::int64_t count = 1;   ///< of this kind, where one row stands for many
    std::optional<RankId> rank;
    std::optional<std::pair<StepIndex, StepIndex>> steps;  ///< first and last looked at
    std::optional<TimeRange> range;                        ///< where to look
};

/// What rules could look at.
struct Judged {
    bool enough = false;               ///< to say that nothing stands out where nothing was found
    std::vector<std::string> unknown;  ///< what they could not look at and why, a phrase each
};

/// A step that took much longer than the rest (slow_steps.h).
struct SlowStepFound {
    StepIndex step;
    std::string why;  ///< sentences: who was late, what took longer; or why that is unknown
};

/// How much of the run's steps ledger, overlap, devices and findings stand on.
struct StepBasis {
    std::int32_t steps = 0;     ///< recorded
    std::int32_t detailed = 0;  ///< of these, with phases and collectives on every rank
    /// What the others lack and why, a phrase each (storage/model/detail.h); none: nothing.
    std::vector<std::string> leftOut;
    [[nodiscard]] bool whole() const { return detailed == steps; }
};

struct Report {
    RunFacts run;
    RunLabel label;  ///< what the user calls it
    StepBasis basis;
    std::optional<double> lossFirst;
    std::optional<double> lossLast;
    std::optional<double> validationLossLast;
    std::optional<double> tokensPerSecond;       ///< all ranks, median over the steady steps
    std::optional<double> wholeTokensPerSecond;  ///< of the whole run's time (findings.h)
    std::optional<double> stepSecondsMedian;     ///< warm-up steps left out
    std::int32_t warmupStepsLeftOut = 0;
    std::int32_t steadySteps = 0;   ///< that median and throughput are of
    std::vector<StepIndex> steady;  ///< which these are, ascending
    /// Overlap and devices count time within steps; false: a rank has none, and all its time counts
    /// from its first kernel to its last.
    bool withinSteps = true;
    Mfu mfu;
    std::optional<double> measuredPeakUse;   ///< as MFU, over the measured matrix-product rate
    CoreUse cores;                           ///< of the steady steps
    std::vector<DeviceUse> devices;          ///< by rank; of GPU ranks
    Overlap overlap;                         ///< all ranks together
    std::vector<Overlap> overlapByRank;      ///< by rank
    std::vector<StepOverlap> overlapByStep;  ///< by step; of those that communicate
    std::vector<LedgerRow> ledger;           ///< by step, rank
    std::vector<RankMemory> memory;          ///< by rank
    HostClocks clocks;                       ///< of runs on several hosts
    std::vector<WaitingForRank> waiting;     ///< worst first
    UnknownWaits unknown;                    ///< unknown which rank they waited for
    /// Of a recorded program: what its ranks did together within steps, each once, by number.
    std::vector<CollectiveOp> seen;
    /// Whether peers' arrivals are there: a trace of one rank of several cannot tell waiting from
    /// moving, and all of it counts as moving.
    bool waitingKnown = true;
    /// Of an imported trace that has neither collectives nor their kernels; filled in by who reads
    /// the rows; most time first.
    std::vector<MarkedCollective> marked;
    std::vector<HtaNumbers> hta;  ///< filled in by who reads the rows; by rank
    Completeness completeness;
    std::vector<RunFinding> findings;  ///< most severe first, then by cost; none of a healthy run
    Judged judged;
    std::vector<SlowStepFound> slowSteps;  ///< by step
    std::vector<Diagnostic> diagnostics;
    std::vector<ProcessFacts> processes;  ///< of a recorded program, by start
    std::uint64_t events = 0;
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;  ///< EventAccount::lost; 0 while the recording is being written
    Bytes fileSize;
    bool finalised = false;
    bool running = false;  ///< its writer is at work, as far as the reader knows

    /// Of the ranks that count for `counts` the one that needs most memory; null: of none is it
    /// known.
    template <std::predicate<RankId> Counts>
    [[nodiscard]] const RankMemory* worstMemory(Counts counts) const {
        const RankMemory* worst = nullptr;
        for (const RankMemory& candidate : memory) {
            if (!candidate.known || !counts(candidate.rank)) continue;
            if (worst == nullptr || candidate.peak > worst->peak) worst = &candidate;
        }
        return worst;
    }
    [[nodiscard]] const RankMemory* worstMemory() const {
        return worstMemory([](RankId) { return true; });
    }
};

/// `ranks` by rank, covering the whole run. `deviceRows`: of ranks whose kernels were traced
/// (device_ledger.h), filled in by who reads them; other ranks and steps go by their phases.
/// `growths`: of ranks whose memory events were read. `around`: for who is late, and why.
[[nodiscard]] Report analyse(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                             const std::vector<LedgerRow>& deviceRows = {},
                             const std::vector<RankGrowth>& growths = {},
                             const Surroundings& around = {});

/// "schema": "shardscope.report/1"; keys are stable.
[[nodiscard]] std::string toJson(const Report& report);

// The same work for each rank, on as many threads as the machine has cores.

/// Calls `work(place)` for each place below `count`, several at a time and in no order; returns
/// when all are done. What one call writes no other may touch.
template <class Work>
void forEachRank(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto go = [&] {
        for (std::size_t place = next++; place < count; place = next++) work(place);
    };
    std::vector<std::jthread> helpers;
    const std::size_t threads =
        std::min<std::size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(go);
    go();
}

}  // namespace shardscope::analysis
