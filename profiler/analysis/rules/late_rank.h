// Which rank the others wait for, and why that one is late.
//
// A step thread that is blocked in a collective before its last rank arrived is held up by that
// rank. A rank is named where it held the others up for long enough to matter, in nearly all steps
// for longer than any other rank, and accounts for nearly all that they were held up: of equal
// ranks one is always the later, and of several slow ones none is the cause. One that is late now
// and then is named too: where many steps were held up for long, or several for very long, nearly
// all of them by it, and it accounts for nearly all of that time.
//
// Why: what the late rank's steps spend more on than the median of the others' in the same step,
// one kind of time at a time. The kind that exceeds most is the reason where it makes up for half
// of the lateness; else the reason is not known. Where calls for memory of the driver took that
// much longer they are the reason, whatever else they held up. A rank that was at work for longer
// but used no processor for it was not running; where its step thread was ready to run for as long,
// something else ran on its core (StepFacts::coreWaitNs).
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/rules/surroundings.h"
#include "profiler/analysis/steps/ledger.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace shardscope::analysis {

/// Of the wall time of the ranks that wait: below it waiting costs nothing worth reporting.
inline constexpr double kLeastBlockedShare = 0.05;
/// Of the steps in which the same rank held the others up more than any other rank did.
inline constexpr double kRegularSteps = 0.8;
/// Of all that ranks were held up.
inline constexpr double kLeastExplained = 0.8;
inline constexpr std::size_t kLeastSteps = 6;
/// Of the others' wall time of a step: from here on the step was held up for long. Of so many steps
/// one of two equal ranks has nearly all in 1 run of 50.
inline constexpr double kLongHeldUp = 0.1;
inline constexpr std::size_t kLeastLongSteps = 10;
/// A step that was held up for very long; equal ranks seldom are.
inline constexpr double kVeryLongHeldUp = 0.3;
inline constexpr std::size_t kLeastVeryLongSteps = 5;
inline constexpr double kMostOfOthers = 0.15;  ///< of those steps, that others held up for long

/// Steps that were held up for some share of them: by a rank, by any, and for how long together.
struct HeldUpSteps {
    std::size_t byRank = 0, byAny = 0;
    Duration time, timeOfAny;
    std::set<StepIndex> steps;  ///< by the rank
    /// Nearly all of them by the rank.
    [[nodiscard]] bool areOfRank(std::size_t least) const;
};

/// What a rank held the others up for.
struct LateRank {
    RankId rank;
    Duration blocked;           ///< of the others' step threads together
    Duration othersWall;        ///< of these steps, of the others together
    Duration blockedByAnybody;  ///< of all step threads
    std::size_t stepsLed = 0;   ///< in which it held them up longer than any other rank did
    std::size_t steps = 0;      ///< that were looked at
    std::size_t others = 0;     ///< ranks
    HeldUpSteps longOnes, veryLongOnes;
    Duration longest;  ///< single wait
    TimeRange where;   ///< the collective of that wait

    [[nodiscard]] double share() const;      ///< blocked / othersWall
    [[nodiscard]] double explained() const;  ///< blocked / blockedByAnybody
    [[nodiscard]] double regular() const;    ///< stepsLed / steps
    [[nodiscard]] bool isNamed() const;
    /// In nearly all steps; else now and then.
    [[nodiscard]] bool isRegular() const;
    /// In some steps only, and nearly no other rank in any.
    [[nodiscard]] bool isNowAndThen() const;
    /// Of one that is late now and then: in which steps.
    [[nodiscard]] const std::set<StepIndex>& heldUpSteps() const {
        return veryLongOnes.areOfRank(kLeastVeryLongSteps) ? veryLongOnes.steps : longOnes.steps;
    }
    /// What each of the others waited for it: the mean of `blocked`.
    [[nodiscard]] Duration lateness() const;
    /// What all ranks together would save: the others' `blocked`, and the rank's own lateness,
    /// since it ends its steps earlier as well.
    [[nodiscard]] Duration cost() const { return blocked + lateness(); }
};

/// Steps that a late rank is looked for in: of the steady ones those that are in the ledger, which
/// says what their time went to.
[[nodiscard]] std::set<StepIndex> comparedSteps(const std::vector<LedgerRow>& ledger,
                                                const std::set<StepIndex>& steady);

/// In how many steps, and for how long: of one that is named.
[[nodiscard]] std::string lateSentence(const LateRank& late);

/// Ranks that held others up in `steps`, worst first. `ledger` says how long steps took.
[[nodiscard]] std::vector<LateRank> heldUpBy(const std::vector<RankEvents>& ranks,
                                             const std::vector<LedgerRow>& ledger,
                                             const std::set<StepIndex>& steps,
                                             const HostClocks& clocks);

class LastArrivals;
/// Time in which a rank's step thread was blocked, by the step and by who had not arrived yet. What
/// the communication thread alone waits for costs nothing.
struct BlockedTime {
    struct OfStep {
        StepIndex step;
        RankId late;
        Duration time;
    };
    struct Longest {
        RankId late;
        Duration time;
        TimeRange collective;
    };
    std::vector<OfStep> steps;     ///< by step, late rank
    std::vector<Longest> longest;  ///< single wait for each late rank
};
[[nodiscard]] BlockedTime blockedTime(const RankEvents& events, LastArrivals& arrivals);
/// Of what is known of each rank, by rank.
[[nodiscard]] std::vector<LateRank> heldUpBy(const std::vector<BlockedTime>& ranks,
                                             const std::vector<LedgerRow>& ledger,
                                             const std::set<StepIndex>& steps);

enum class LateReason : std::uint8_t {
    kInput,
    kCompute,
    kNotRunning,
    kClocks,
    kHost,
    kCommunication,
    kNoCore,
    kMemory,
    kUnknown,
};
struct LateReasonWords {
    LateReason value;
    const char* word;
    const char* definition;
    const char* remedy;
};
constexpr auto wordsOf(LateReason) {
    return wordList<LateReasonWords>(
        {{LateReason::kInput, "input", "It builds its batches for longer than the others.",
          "look at its disk and at what else reads there"},
         {LateReason::kCompute, "compute",
          "It computes for longer than the others, and its threads run meanwhile.",
          "look whether it has more work, a slower processor or less of its caches and memory"},
         {LateReason::kNotRunning, "not running",
          "It was at work and did not run: its steps used less processor time than the work took. "
          "It slept, waited for something that is not recorded, or was stopped.",
          "look for what it does there besides computing (a sleep, a file, a lock, the network), "
          "for what shares its cores, for a limit on processor time, and for what stops it"},
         {LateReason::kClocks, "clocks",
          "It computes for longer, and its device ran at lower clocks than the others'.",
          "look at its power limit, temperature and cooling"},
         {LateReason::kHost, "host",
          "Its device or step thread had nothing to do for longer: the host had not launched it.",
          "look at what its host thread does between launches"},
         {LateReason::kCommunication, "own communication",
          "Its own data moved for longer than the others'.", "look at its link"},
         {LateReason::kNoCore, "no core", "It was ready to run and something else ran on its core.",
          "look for what shares its cores and give it cores of its own; in a container look "
          "whether its quota of processor time held it back"},
         {LateReason::kMemory, "memory retries",
          "It took device memory from the driver and gave it back for longer than the others: its "
          "allocator found no room in what it had, and the device waits meanwhile.",
          "let it hold less (smaller micro-batch, recomputation), or segments that grow "
          "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)"},
         {LateReason::kUnknown, "unknown",
          "No kind of its time exceeds that of the others by half of its delay.", ""}});
}
[[nodiscard]] constexpr const char* definition(LateReason reason) {
    return entryOf(reason)->definition;
}
[[nodiscard]] constexpr const char* remedy(LateReason reason) {
    return entryOf(reason)->remedy;
}

/// Of the lateness: what a kind of time must exceed to be the reason.
inline constexpr double kLeastReason = 0.5;
/// Of the median of the others' clocks: below it a device is slower by them.
inline constexpr double kLowClocks = 0.97;

struct LateCause {
    LateReason reason = LateReason::kUnknown;
    Duration excess;  ///< over the median of the others, in all steps looked at
};

[[nodiscard]] LateCause whyLate(const LateRank& late, const RecordingSummary& summary,
                                const std::vector<LedgerRow>& ledger,
                                const std::set<StepIndex>& steps, const Surroundings& around = {});

/// What another load on the machine does to one rank and not to its peers can last so long.
inline constexpr Duration kLongestChance{1'000'000'000};

/// No warning names a rank for what may be chance: now and then without a reason, or because it
/// took longer for the same work, in steps that last below a second together.
[[nodiscard]] inline bool mayBeChance(const LateRank& late, const LateCause& cause) {
    const bool isUnknown = cause.reason == LateReason::kUnknown;
    if (isUnknown && !late.isRegular()) return true;
    const bool sameWork =
        isUnknown || cause.reason == LateReason::kCompute || cause.reason == LateReason::kHost;
    const auto others = static_cast<std::int64_t>(std::max<std::size_t>(late.others, 1));
    return sameWork && late.othersWall.ns / others < kLongestChance.ns;
}

}  // namespace shardscope::analysis
