// The rules that make findings, one function each, and their thresholds. Internal to
// profiler/analysis; what they find is listed in docs/analysis.md.
//
// A finding is what a healthy run does not have: each rule asks for size and for regularity, since
// of two equal ranks one is always the later.
#pragma once

#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/report/report.h"
#include "profiler/analysis/rules/late_rank.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "profiler/analysis/steps/ledger.h"
#include "profiler/analysis/steps/operator_time.h"
#include "profiler/analysis/steps/slow_steps.h"
#include "profiler/analysis/steps/training_health.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::analysis {

/// Of collectives that had compute to hide behind, what was hidden and what not.
struct HideableTime {
    struct OfStep {
        StepIndex step;
        Duration moving, hidden;  ///< of all of them
        Duration late;            ///< exposed while data moved, of those issued late
        std::int64_t count = 0;   ///< issued late
    };
    /// By step, of an operation and layer.
    std::map<std::pair<CollectiveOp, LayerIndex>, std::vector<OfStep>> byStep;

    void add(const HideableTime& other);
};
[[nodiscard]] HideableTime hideableTime(const RecordingSummary& summary, const RankEvents& events);

/// What rules need of all ranks' collectives.
struct GatheredCollectives {
    std::vector<BlockedTime> blocked;  ///< by rank
    HideableTime hideable;             ///< of the ranks that are looked at
    std::vector<Transfer> transfers;   ///< where mayHaveSlowLink()
};

/// What rules look at.
struct RuleInput {
    const RecordingSummary& summary;       ///< whole
    const std::vector<RankEvents>& ranks;  ///< as outlineOf() leaves them, or whole
    const GatheredCollectives& collectives;
    const Report& report;  ///< with ledger, memory, clocks and warm-up filled in
    const std::vector<RankGrowth>& growths;
    const Surroundings& around;
    std::set<StepIndex> steady;  ///< steadySteps() of the whole recording
    /// Of these, those of which it is known what their time went to.
    std::set<StepIndex> steps;
    std::map<StepIndex, std::vector<const LedgerRow*>> rows;  ///< of these, over ranks
    SlowSteps slow;
    TrainingHealth health;
    /// Of a recorded program: of some steady steps, every rank's; by rank, step. None: not known.
    std::vector<OperatorTime> operators;
};
[[nodiscard]] RuleInput ruleInput(const RecordingSummary& summary,
                                  const std::vector<RankEvents>& ranks,
                                  const GatheredCollectives& collectives, const Report& report,
                                  const std::vector<RankGrowth>& growths,
                                  const Surroundings& around);

using MaybeFinding = std::optional<RunFinding>;

/// Of the wall time of the compared steps: what costs less is a note.
inline constexpr double kWarningCost = 0.05;

/// "late-rank": the others wait for it (late_rank.h). In `steps`. A note where it had no core, and
/// of CPU ranks of one host where its own communication took longer.
[[nodiscard]] MaybeFinding findLateRank(const RuleInput& input, const std::set<StepIndex>& steps);
/// Of what steps take more: what one kind of time must make up to be the reason (step_excess.h).
inline constexpr double kLeastSlowReason = 0.5;
enum class SlowReason : std::uint8_t {
    kInput,
    kCompute,
    kNotRunning,
    kHost,
    kCommunication,
    kCoresTaken,
    kUnknown,
};
struct SlowReasonWords {
    SlowReason value;
    const char* word;
    const char* definition;
    const char* remedy;
};
constexpr auto wordsOf(SlowReason) {
    return wordList<SlowReasonWords>(
        {{SlowReason::kInput, "input", "Building batches takes longer.",
          "look at the disk and at what else reads there"},
         {SlowReason::kCompute, "compute",
          "The same work took longer, and its threads ran meanwhile.",
          "look at clocks, power limit and temperature, and at what shares caches and memory"},
         {SlowReason::kNotRunning, "not running",
          "It was at work, used less processor time for it than usual and did not wait for a core: "
          "it slept, waited for something that is not recorded, or was stopped, or its machine "
          "was.",
          "look for what it does there besides computing (a sleep, a file, a lock, the network), "
          "and for what stops it (signals, a debugger, a paused virtual machine, a limit on "
          "processor time)"},
         {SlowReason::kHost, "host",
          "Devices or step threads are idle for longer: the host limits them.",
          "look at what host threads do between launches"},
         {SlowReason::kCommunication, "communication", "Data moves for longer.",
          "look at the link, and at who else uses it"},
         {SlowReason::kCoresTaken, "cores taken",
          "Ranks were ready to run and had no core: other programs or other virtual machines ran "
          "there.",
          "run less beside it, or give ranks cores of their own; in a container look whether its "
          "quota of processor time held them back"},
         {SlowReason::kUnknown, "unknown", "No kind of time accounts for half of the extra time.",
          "compare it in the timeline with a step before it"}});
}
/// "slow-step": steps that slow_steps.h names, the slowest first, the others by reason. A note
/// where all but a little of what they cost is the machine's: cores taken, or all ranks slower at
/// the same work. `each`: all of them by step, with the reason.
[[nodiscard]] MaybeFinding findSlowStep(const RuleInput& input, std::vector<SlowStepFound>& each);

/// "slow-stretch": steps that follow each other and take longer than the rest. A note where it is
/// the machine, as above.
inline constexpr StretchRule kSlowStretch{1.3, 0.1};
[[nodiscard]] MaybeFinding findSlowStretch(const RuleInput& input);

/// "slow-link": transfers of one operation, group and size, by step. A step's is their median.
inline constexpr StretchRule kSlowLink{2, 0.2};
/// What ranks must be blocked longer in these steps for it to be looked at, while data moves.
inline constexpr StretchRule kBlockedLonger{1.2, 0.2};
/// Compute that takes as much longer says that it is the machine, not the link; so do cores that
/// others took.
inline constexpr double kSlowMachine = 1.3;
/// Of the wall time of the stretch: what the link must cost.
inline constexpr double kLeastLinkCost = 0.05;
/// Whether ranks are blocked for longer for a while; else nothing is lost by a link.
[[nodiscard]] bool mayHaveSlowLink(const RuleInput& input);
[[nodiscard]] MaybeFinding findSlowLink(const RuleInput& input);

/// "late-collective": collectives of an operation and layer that are asked for too late.
/// Of a step's wall time: what is exposed of them.
inline constexpr double kLeastLateCost = 0.04;
/// Of the steps.
inline constexpr double kRegularlyLate = 0.8;
/// Of the time of the same operation's collectives of other layers: what compute hides. Where they
/// are not hidden either it is the schedule, not this collective.
inline constexpr double kOthersHidden = 0.5;
/// Ranks that are looked at, evenly spread over all: all of them do the same.
inline constexpr std::size_t kMostRanksLookedAt = 16;
[[nodiscard]] bool isLookedAt(std::size_t place, std::size_t ranks);
[[nodiscard]] MaybeFinding findLateCollective(const RuleInput& input);

/// "host-bound": devices that wait for launches. A note where a run of ours was captured in full,
/// since recording is the host's work too. Of the steps' wall time, and of the steps:
inline constexpr double kLeastHostBound = 0.15, kRegularlyIdle = 0.8;
[[nodiscard]] MaybeFinding findHostBound(const RuleInput& input);

/// "host-bound" too, of a recorded program whose ranks compute on CPUs (operator_time.h): what lies
/// outside of operators, in kRegularlyIdle of the steps that were looked at. From 0.3 on larger
/// batches can make steps 1.4 times as fast; operators of 35 us, as of a small GPT, leave 0.16 at
/// full, and operators of 10 us 0.4.
inline constexpr double kLeastOutsideOperators = 0.3;
[[nodiscard]] MaybeFinding findOutsideOperators(const RuleInput& input);
/// Why it cannot be looked at and how to get it; empty: it can, or the recording is of no program.
[[nodiscard]] std::string whyNoOperatorTime(const RuleInput& input);

/// "data-bound": steps wait for their batches. Of the steps' wall time, in kRegularlyIdle of them:
inline constexpr double kLeastDataBound = 0.15;
[[nodiscard]] MaybeFinding findDataBound(const RuleInput& input);

/// "device-copies": devices copy or set memory with no kernel beside it for a good part of the time
/// that counts for them: of the steps, or without steps from the first kernel to the last.
inline constexpr double kLeastCopies = 0.15;
[[nodiscard]] MaybeFinding findCopies(const RuleInput& input);

/// "cores-taken": ranks had no core for a tenth of their time or more, over the whole run; a
/// warning from kManyTaken on (cores_taken.h). It says nothing about the code.
[[nodiscard]] MaybeFinding findCoresTaken(const RuleInput& input);

/// "communication-exposed": ranks are blocked while data moves for a good part of the compared
/// steps: a note, since it can be the link; a warning from less on where the schedule hides nothing
/// although it could (--prefetch 0).
inline constexpr double kLeastBlockedMoving = 0.25, kLeastOnDemand = 0.1;
[[nodiscard]] MaybeFinding findExposedCommunication(const RuleInput& input);

/// "memory-above-theory": a note, and a warning.
inline constexpr const char* kMemoryAboveTheory = "memory-above-theory";
inline constexpr double kMemoryNote = 0.05, kMemoryWarning = 0.10;
[[nodiscard]] MaybeFinding findMemoryAboveTheory(const RuleInput& input);
/// "memory-growth": what is left at the ends of steps grows (memory_steps.h).
inline constexpr const char* kMemoryGrowth = "memory-growth";
[[nodiscard]] MaybeFinding findMemoryGrowth(const RuleInput& input);

/// "not-finite", "loss-spike", "gradient-norm": each at its worst (training_health.h).
[[nodiscard]] std::vector<RunFinding> findInTraining(const RuleInput& input);

/// From the first step's first beginning to the last one's last end.
[[nodiscard]] std::optional<TimeRange> rangeOf(const RecordingSummary& summary, StepIndex first,
                                               StepIndex last);
/// Sum over the rows of all compared steps.
[[nodiscard]] Duration wallOf(const RuleInput& input);
/// A warning where `cost` is enough of all compared steps' time, else a note.
[[nodiscard]] Severity severityOf(Duration cost, const RuleInput& input);
/// The same against other wall time.
[[nodiscard]] Severity severityOf(Duration cost, Duration wall);

}  // namespace shardscope::analysis
