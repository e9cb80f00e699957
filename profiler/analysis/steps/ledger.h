// The ledger: what each step of each rank was spent on. Rows, and their sums and medians over the
// whole run or over what is selected of it.
//
// Two ways to make them; of both each instant of [step start, step end) belongs to exactly one
// part, so that parts add up to the wall time to the nanosecond:
// - by the phases of the step thread (ledger.cpp): ranks that compute on a CPU, and steps of which
//   no device work was traced. Time blocked in a gradient reduction is the operation's that the
//   phase waits for: of the rank's reduce-scatters and all-reduces the one that ended last within
//   the phase, else the one that was under way in it; without either a reduce-scatter. What a wait
//   lasts after the collective it waited for has ended is other: of its layer the last one that
//   ended within it, else of its kind
// - by the work of the device and its launches (device_ledger.h): ranks whose kernels were traced,
//   imported traces among them.
//
// Waiting for a core (StepFacts::coreWaitNs) and what a hypervisor took (StepFacts::stolenNs over
// the cores of the host) are known of a step of the step thread, not where in it: of rows by phases
// they are taken out of what a thread lasted to go on after collectives, then out of the parts in
// which it runs, then out of those in which it is blocked, each by its share of them. A host thread
// that has no core does not stop its device: rows by the device have neither.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/recording.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

/// Parts of a step. Their sum is the step's wall time, exactly, on every rank.
enum class LedgerPart : std::uint8_t {
    kCompute = 0,    ///< forward, head, backward
    kOptimizer,      ///< clip and sharded AdamW
    kExposedGather,  ///< blocked on a gather while data moved
    kExposedReduceScatter,
    kExposedAllReduce,
    kExposedOther,  ///< blocked on another collective while data moved
    kWaiting,       ///< blocked in a collective before the last rank arrived
    kNoCore,        ///< ready to run, without a core
    kStolen,        ///< its core was given to another machine by the hypervisor
    kCopies,        ///< of a device
    kLaunchBound,   ///< a device idle while work for it was launched and had not begun
    kHostBound,     ///< a device idle, and nothing launched
    kData,
    kEvaluation,
    kCheckpoint,
    kProfiler,
    kOther,  ///< between phases: scheduling, releases, bookkeeping
};
/// What a part is called, in JSON too, and a sentence about what it is.
struct LedgerPartWords {
    LedgerPart value;
    const char* word;
    const char* key;
    const char* definition;
};
constexpr auto wordsOf(LedgerPart) {
    return wordList<LedgerPartWords>(
        {{LedgerPart::kCompute, "compute", "compute_ns",
          "Forward, head with loss, and backward of the step thread; on a device compute kernels."},
         {LedgerPart::kOptimizer, "optimizer", "optimizer_ns",
          "Gradient clipping and the optimizer's update; on a device kernels of these."},
         {LedgerPart::kExposedGather, "blocked in gathers", "blocked_gather_ns",
          "Blocked until gathered parameters are there, while every rank had arrived and data "
          "moved; on a device all-gathers that no compute kernel hides."},
         {LedgerPart::kExposedReduceScatter, "blocked in reduce-scatters",
          "blocked_reduce_scatter_ns",
          "Blocked until a reduce-scatter of gradients is done, while every rank had arrived and "
          "data moved; on a device reduce-scatters that no compute kernel hides."},
         {LedgerPart::kExposedAllReduce, "blocked in all-reduces", "blocked_all_reduce_ns",
          "Blocked until an all-reduce of gradients is done, while every rank had arrived and data "
          "moved; on a device all-reduces that no compute kernel hides."},
         {LedgerPart::kExposedOther, "blocked in others", "blocked_other_ns",
          "Blocked in any other collective (norm, loss), while every rank had arrived and data "
          "moved; on a device other collectives that no compute kernel hides."},
         {LedgerPart::kWaiting, "waiting for the slowest", "waiting_ns",
          "Blocked while a collective of this rank had started but its last rank had not arrived."},
         {LedgerPart::kNoCore, "waiting for a core", "no_core_ns",
          "The step thread was ready to run and had no core: other programs, or more threads than "
          "cores. Where in the step is not recorded: taken out of the other parts by their share."},
         {LedgerPart::kStolen, "stolen", "stolen_ns",
          "The hypervisor gave the core to another machine: the stolen time of the host, evenly "
          "over its cores."},
         {LedgerPart::kCopies, "copies", "copies_ns",
          "The device copies or sets memory, and neither computes nor communicates."},
         {LedgerPart::kLaunchBound, "idle, launched", "launch_bound_ns",
          "The device is idle although work was launched that has not begun: launch latency."},
         {LedgerPart::kHostBound, "idle, host", "host_bound_ns",
          "The device is idle and nothing launched is left to begin: the host is the bound."},
         {LedgerPart::kData, "data", "data_ns",
          "Building the batch; on a device what is idle meanwhile."},
         {LedgerPart::kEvaluation, "evaluation", "evaluation_ns",
          "Validation passes inside the step."},
         {LedgerPart::kCheckpoint, "checkpoint", "checkpoint_ns",
          "Writing a checkpoint; on a device what is idle meanwhile."},
         {LedgerPart::kProfiler, "profiler", "profiler_ns",
          "The device is idle while the profiler works on the host."},
         {LedgerPart::kOther, "other", "other_ns",
          "Between phases: scheduling, releases, bookkeeping, and a thread that is woken late; "
          "collectives may go on meanwhile. On a device idle before work whose launch is not "
          "recorded."}});
}
inline constexpr int kLedgerPartCount = static_cast<int>(kPlaces<LedgerPart>);
[[nodiscard]] constexpr const char* toKey(LedgerPart part) {
    return entryOf(part)->key;
}
[[nodiscard]] constexpr const char* definition(LedgerPart part) {
    return entryOf(part)->definition;
}

/// By LedgerPart.
using LedgerParts = std::array<Duration, kLedgerPartCount>;
/// Place of a part.
[[nodiscard]] constexpr std::size_t at(LedgerPart part) {
    return static_cast<std::size_t>(part);
}

struct LedgerRow {
    RankId rank;
    StepIndex step;
    Duration wall;
    LedgerParts parts{};
};

/// Blocked in collectives, waiting for the slowest rank included.
[[nodiscard]] Duration blockedIn(const LedgerParts& parts);
/// What scripts know as one figure: blocked in reduce-scatters and in all-reduces.
inline constexpr const char* kReductionKey = "blocked_reduction_ns";
[[nodiscard]] Duration blockedInReductions(const LedgerParts& parts);
/// Wanted to run and could not: without a core, or stolen.
[[nodiscard]] Duration takenFrom(const LedgerParts& parts);
/// Each part's median over the rows of a rank; zero without rows.
[[nodiscard]] LedgerParts medianParts(const std::vector<LedgerRow>& rows, RankId rank);
/// One step against the others, means over the ranks that have it. Medians of parts do not add up
/// to the median step.
struct AgainstMedian {
    StepIndex step;
    std::int64_t ranks = 0;
    std::size_t others = 0;  ///< steps that the medians are of
    Duration wall, medianWall;
    LedgerParts parts{}, medians{};  ///< of the step, of the others by rank
};
/// `among`: ascending, the steps that are compared (Report::steady). `ranks`: of which; none: all.
/// None where the step has no row, or no other is among them.
[[nodiscard]] std::optional<AgainstMedian> againstMedian(const std::vector<LedgerRow>& rows,
                                                         StepIndex step,
                                                         const std::vector<StepIndex>& among,
                                                         const std::vector<RankId>& ranks);
/// Over all rows.
[[nodiscard]] LedgerParts sumOfParts(const std::vector<LedgerRow>& rows);
[[nodiscard]] Duration sumOfWalls(const std::vector<LedgerRow>& rows);

/// One step's ledger in order of time: which part each instant belongs to. Pieces of a part add up
/// to what the ledger's row says of it, to the nanosecond; of steps that waited for a core to what
/// it says before that is taken out of it.
struct LedgerPiece {
    TimeRange range;
    LedgerPart part = LedgerPart::kOther;
};

/// By the phases of the step thread (ledger.cpp). `events` of the step's rank reach over all of the
/// step. Disjoint, by start, without gaps; none where no phase lies in it.
[[nodiscard]] std::vector<LedgerPiece> phasePieces(const StepFacts& step, const RankEvents& events);

}  // namespace shardscope::analysis
