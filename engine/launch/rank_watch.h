// What ranks were last heard to be at, and which of them stand still: by their own words once a
// second, and by what their agents see of their processes. Pure: the time is given.
//
// Times of silence are the agents', which leave out what they did not listen themselves, so that
// neither a slow link nor a recorder that was stopped makes a rank look still.
#pragma once

#include "engine/run/protocol/messages.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope::launch {

// Which rank held up the others (hang_verdict.cpp).

/// Of one rank, when the run failed.
struct RankEvidence {
    /// It gave up since it waited for this rank in vain.
    std::optional<std::size_t> waitedFor;
    /// And only since it heard that another rank gave up or is gone.
    bool hearsay = false;
    bool gaveUp = false;  ///< with or without a word on whom it waited for
    /// Its process cannot run, or could not a moment ago: stopped, traced, frozen, or stuck in the
    /// kernel.
    bool held = false;
    bool waits = false;                    ///< what it was last at is waiting for other ranks
    bool seen = false;                     ///< it has said what it is at
    std::chrono::nanoseconds standsFor{};  ///< in that for so long
};

/// The rank at the root of the waits: one that is held, else the one at the end of the chain that
/// begins at what was first waited for in vain, else the one that has stood still for longest
/// without waiting. Nothing where no rank stands out. `first`: the rank that gave up first.
[[nodiscard]] std::optional<std::size_t> findCulprit(std::span<const RankEvidence> ranks,
                                                     std::size_t first);

/// Hosts whose ranks waited for each other in a circle, in the order of their waits, found from
/// `first` on: between two of them nothing gets through. `hostOf`: of each rank. Empty: no circle.
[[nodiscard]] std::vector<std::size_t> findSeveredHosts(std::span<const RankEvidence> ranks,
                                                        std::span<const std::size_t> hostOf,
                                                        std::size_t first);

struct StandstillLimits {
    std::chrono::seconds tell{10};         ///< of a rank that uses no processor
    std::chrono::seconds tellBusy{60};     ///< of one that does
    std::chrono::seconds end{65};          ///< of a rank that cannot go on by itself
    std::chrono::seconds endUnheard{120};  ///< at least, of one that has never said a word
};

/// For --collective-timeout: ranks that wait for one another are given their own say first.
[[nodiscard]] StandstillLimits standstillLimits(std::int32_t collectiveTimeout);

class RankWatch {
public:
    using Time = std::chrono::steady_clock::time_point;

    RankWatch(std::size_t ranks, const StandstillLimits& limits);

    void started(RankId rank, std::int64_t pid, Time now);
    [[nodiscard]] bool isStarted(RankId rank) const { return seenOf(rank).pid != 0; }
    void note(RankId rank, const run::RankActivity& activity);
    void note(RankId rank, const run::RankLooked& looked, Time now);
    void ended(RankId rank);

    struct Standstill {
        RankId rank;
        bool busy = false;  ///< it computes: perhaps all is well
        std::string text;   ///< "rank 0 has been in forward of step 3 for 10 s: its process ..."
    };
    /// Those that are to be said of now, each once until it goes on.
    [[nodiscard]] std::vector<Standstill> due();
    /// One that has stood still for so long, unable to go on, that the run is to be ended.
    [[nodiscard]] std::optional<RankId> overdue() const;

    /// What is known of it, for findCulprit().
    [[nodiscard]] RankEvidence evidence(RankId rank) const;
    /// "has been in forward of layer 2 of step 3 for 8 s: its process 12 is stopped by a signal"
    [[nodiscard]] std::string describe(RankId rank) const;

private:
    struct Seen {
        std::int64_t pid = 0;
        std::optional<run::RankActivity> activity;
        std::optional<run::RankLooked> look;
        Time startedAt, lookedAt;
        Time idleSince;                 ///< it has used next to no processor time since
        std::optional<Time> heldSince;  ///< its process could not run ever since
        std::optional<Time> heldUntil;  ///< and before
        Duration idleProcessor;         ///< what it had used then
        double cores = 0;               ///< that it used between the last two looks
        bool over = false;
        bool said = false;
        bool saidBusy = false;  ///< once a run: a large model may be as slow in each phase
    };

    [[nodiscard]] const Seen& seenOf(RankId rank) const { return m_ranks.at(rank.value); }
    [[nodiscard]] std::chrono::nanoseconds still(const Seen& seen) const;
    [[nodiscard]] static bool isHeldUp(const run::RankLooked& look);
    [[nodiscard]] std::chrono::nanoseconds heldFor(const Seen& seen) const;
    [[nodiscard]] bool isIdle(const Seen& seen) const;
    [[nodiscard]] bool isWorth(const Seen& seen) const;
    [[nodiscard]] bool isOverdue(const Seen& seen) const;
    [[nodiscard]] std::string atText(const Seen& seen) const;

    StandstillLimits m_limits;
    std::vector<Seen> m_ranks;
};

}  // namespace shardscope::launch
