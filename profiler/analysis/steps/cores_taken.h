// How much of what steps take longer others on the machine took: programs that ran on the ranks'
// cores, and other guests of the hypervisor.
//
//   own    = sum over ranks of (wall - waiting for the slowest rank) less its median in other steps
//   whole  = sum over ranks of wall less its median in other steps, divided by the number of ranks;
//            where ranks are held up in turns, own is as much
//   taken  = sum over ranks of core_wait less its median in other steps
//            + sum over hosts of stolen less its mean in other steps: it is counted by ticks, and
//            is 0 in most short steps
//   share  = taken / max(own, whole), within 0 to 1, each of them summed over the steps
//
// core_wait is the time that a step thread was ready to run and had no core; stolen the processor
// time of all cores of a host that its hypervisor gave to others, of which its ranks together lost
// that much at most (storage/model/recording.h, StepFacts). Both are known of recordings of format
// 2.2 and later; what is not known counts as 0. A rank that is stopped, or whose core is slower,
// waits for none. One that is held back by a quota of its control group does: that is not
// distinguished.
#pragma once

#include "profiler/analysis/steps/ledger.h"
#include "storage/model/recording.h"

#include <map>
#include <set>
#include <vector>

namespace shardscope::analysis {

/// Of what steps take longer: from here on others are the reason.
inline constexpr double kMostlyTaken = 0.5;

struct CoresTaken {
    double ownNs = 0, wholeNs = 0, takenNs = 0;
    [[nodiscard]] double share() const;  ///< 0 where steps take no longer
    [[nodiscard]] bool isMost() const { return share() >= kMostlyTaken; }
    CoresTaken& operator+=(const CoresTaken& other);
};

/// Of each of `steps`; these add up. `rows`: of all steps that are compared, over ranks.
[[nodiscard]] std::map<StepIndex, CoresTaken> coresTaken(
    const RecordingSummary& summary, const std::map<StepIndex, std::vector<const LedgerRow*>>& rows,
    const std::set<StepIndex>& steps);
[[nodiscard]] CoresTaken sumOf(const std::map<StepIndex, CoresTaken>& steps);

}  // namespace shardscope::analysis
