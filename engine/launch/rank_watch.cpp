#include "engine/launch/rank_watch.h"

#include "engine/launch/process_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::launch {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Ranks speak once a second.
constexpr nanoseconds kSilence = seconds(3);
/// Of one core. A rank whose step thread sleeps still tells what it is at.
constexpr double kNextToNone = 0.02;
constexpr double kComputes = 0.5;
constexpr std::chrono::milliseconds kEnoughForARate{500};
/// What all ranks are given for their own words.
constexpr seconds kOwnSay{5};

nanoseconds lengthOf(Duration duration) {
    return nanoseconds(duration.ns);
}

/// "in forward of layer 2 of step 3"
std::string placeText(const run::RankActivity& activity) {
    if (activity.step == kNoStep && activity.phase == Phase::kNone) return "before its first step";
    const std::string step = activity.step == kNoStep
                                 ? "before its first step"
                                 : fmt::format("of step {}", activity.step.value);
    if (activity.phase == Phase::kNone) return "between two phases " + step;
    const std::string layer = activity.layer.value >= 0
                                  ? fmt::format(" of layer {}", activity.layer.value)
                                  : std::string();
    return fmt::format("in {}{} {}", toWord(activity.phase), layer, step);
}

}  // namespace

StandstillLimits standstillLimits(std::int32_t collectiveTimeout) {
    StandstillLimits limits;
    limits.end = seconds(collectiveTimeout) + kOwnSay;
    limits.endUnheard = std::max(limits.endUnheard, limits.end);
    return limits;
}

RankWatch::RankWatch(std::size_t ranks, const StandstillLimits& limits)
    : m_limits(limits), m_ranks(ranks) {}

void RankWatch::started(RankId rank, std::int64_t pid, Time now) {
    Seen& seen = m_ranks.at(rank.value);
    seen.pid = pid;
    seen.startedAt = seen.lookedAt = seen.idleSince = now;
}

void RankWatch::note(RankId rank, const run::RankActivity& activity) {
    Seen& seen = m_ranks.at(rank.value);
    if (seen.activity && lengthOf(activity.inPhase) < lengthOf(seen.activity->inPhase))
        seen.said = false;
    seen.activity = activity;
    // It has spoken since.
    if (seen.look) seen.look->silent = {};
}

void RankWatch::note(RankId rank, const run::RankLooked& looked, Time now) {
    Seen& seen = m_ranks.at(rank.value);
    const auto used = lengthOf(looked.processor) - lengthOf(seen.idleProcessor);
    const auto most = std::chrono::duration<double>(now - seen.idleSince) * kNextToNone;
    if (!seen.look || used > most) {
        seen.idleSince = now;
        seen.idleProcessor = looked.processor;
    }
    if (seen.look && now - seen.lookedAt >= kEnoughForARate)
        seen.cores = std::chrono::duration<double>(lengthOf(looked.processor) -
                                                   lengthOf(seen.look->processor)) /
                     (now - seen.lookedAt);
    if (!isHeldUp(looked)) {
        if (std::exchange(seen.heldSince, std::nullopt)) seen.heldUntil = now;
    } else if (!seen.heldSince) {
        seen.heldSince = now - lengthOf(looked.silent);
    }
    seen.look = looked;
    seen.lookedAt = now;
}

void RankWatch::ended(RankId rank) {
    m_ranks.at(rank.value).over = true;
}

/// At least for so long.
nanoseconds RankWatch::still(const Seen& seen) const {
    if (!seen.activity) return seen.lookedAt - seen.startedAt;
    const nanoseconds silent = seen.look ? lengthOf(seen.look->silent) : nanoseconds(0);
    return lengthOf(seen.activity->inPhase) + (silent >= kSilence ? silent : nanoseconds(0));
}

/// Its process cannot go on, of which the kernel is the cause or another process.
bool RankWatch::isHeldUp(const run::RankLooked& look) {
    return isHeld(look.hold) ||
           (look.hold == run::ProcessHold::kDisk && lengthOf(look.silent) >= kSilence);
}

nanoseconds RankWatch::heldFor(const Seen& seen) const {
    return seen.heldSince ? seen.lookedAt - *seen.heldSince : nanoseconds(0);
}

bool RankWatch::isIdle(const Seen& seen) const {
    return seen.look && seen.lookedAt - seen.idleSince >= m_limits.tell;
}

/// What a rank that waits for others waits for is said of those.
bool RankWatch::isWorth(const Seen& seen) const {
    const nanoseconds time = still(seen);
    if (seen.over || !seen.look) return false;
    if (seen.heldSince) return heldFor(seen) >= m_limits.tell;
    if (time < m_limits.tell) return false;
    if (seen.activity && (isWait(seen.activity->phase) || seen.activity->queues)) return false;
    return isIdle(seen) || (seen.activity && time >= m_limits.tellBusy);
}

std::vector<RankWatch::Standstill> RankWatch::due() {
    std::vector<Standstill> list;
    for (std::size_t i = 0; i < m_ranks.size(); ++i) {
        Seen& seen = m_ranks[i];
        if (seen.said || !isWorth(seen)) continue;
        const bool busy = !seen.heldSince && !isIdle(seen);
        if (busy && std::exchange(seen.saidBusy, true)) continue;
        seen.said = true;
        const RankId rank{static_cast<std::uint32_t>(i)};
        list.push_back({rank, busy, fmt::format("rank {} {}", i, describe(rank))});
    }
    return list;
}

bool RankWatch::isOverdue(const Seen& seen) const {
    if (seen.over || !seen.look) return false;
    if (seen.heldSince) return heldFor(seen) >= m_limits.end;
    const nanoseconds idle = seen.lookedAt - seen.idleSince;
    if (!seen.activity) return idle >= m_limits.endUnheard;
    // Writing a checkpoint, or what a device is waited for, may take as long as it takes.
    const Phase phase = seen.activity->phase;
    const bool works = phase == Phase::kData || isWork(phase);
    return works && !seen.activity->queues && idle >= m_limits.end && still(seen) >= m_limits.end;
}

std::optional<RankId> RankWatch::overdue() const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < m_ranks.size(); ++i)
        if (isOverdue(m_ranks[i]) && (!found || still(m_ranks[i]) > still(m_ranks[*found])))
            found = i;
    if (!found) return std::nullopt;
    return RankId{static_cast<std::uint32_t>(*found)};
}

RankEvidence RankWatch::evidence(RankId rank) const {
    const Seen& seen = seenOf(rank);
    RankEvidence evidence;
    // One that goes on just when others give up was at fault all the same.
    evidence.held =
        seen.heldSince || (seen.heldUntil && seen.lookedAt - *seen.heldUntil < kSilence);
    evidence.seen = seen.activity && !seen.activity->queues;
    evidence.waits = seen.activity && isWait(seen.activity->phase);
    evidence.standsFor = still(seen);
    return evidence;
}

std::string RankWatch::describe(RankId rank) const {
    const Seen& seen = seenOf(rank);
    std::string text = atText(seen);
    if (!seen.look) return text;
    // Its first thread may sleep for others of it that compute.
    const bool computes = seen.look->hold == run::ProcessHold::kSleeping && seen.cores >= kComputes;
    const auto hold = computes ? run::ProcessHold::kNone : seen.look->hold;
    return text + ": " + holdText(hold, seen.pid);
}

/// What a silent rank was at since its last word is not known.
std::string RankWatch::atText(const Seen& seen) const {
    const auto inSeconds = [](nanoseconds time) {
        return std::chrono::floor<seconds>(time).count();
    };
    if (!seen.activity)
        return fmt::format("has not said what it is at in the {} s since its start",
                           inSeconds(still(seen)));
    const std::string place = placeText(*seen.activity);
    const nanoseconds silent = seen.look ? lengthOf(seen.look->silent) : nanoseconds(0);
    if (silent >= kSilence)
        return fmt::format("was last heard of {}, {} s ago", place, inSeconds(silent));
    return fmt::format("has been {} for {} s", place, inSeconds(still(seen)));
}

}  // namespace shardscope::launch
