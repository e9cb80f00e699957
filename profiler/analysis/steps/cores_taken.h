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

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
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

// What machines gave the ranks, over some steps as a whole and not against others of the same run.
//
//   waiting = sum over ranks of core_wait / sum of their steps' wall time
//   stolen, own, others = processor time of the hosts' cores that the hypervisor gave to other
//     machines, that the ranks' processes used, and that other programs used (all use less own), as
//     shares of cores x time, over the hosts. Own time of other processes of the run (agents, the
//     recorder) counts as others'.
//
// Where threads wait although others use little, the run has more threads than cores.

struct CoreUse {
    Duration wall;    ///< of the ranks' steps of which it is known how long they waited
    Duration waited;  ///< their step threads, ready and without a core
    std::optional<double> stolen, own, others;  ///< shares of the hosts' cores
    [[nodiscard]] double waiting() const {
        return wall.ns > 0 ? static_cast<double>(waited.ns) / static_cast<double>(wall.ns) : 0;
    }
    [[nodiscard]] bool known() const { return wall.ns > 0; }
    bool devices = false;  ///< they compute, and go on while a rank's step thread waits
    /// Of the ranks' time: waited or stolen.
    [[nodiscard]] double taken() const { return waiting() + stolen.value_or(0); }
    /// Of the time that steps take: not known of devices, which may have work to do meanwhile.
    [[nodiscard]] double takenOfSteps() const { return devices ? 0 : taken(); }
};
/// "12.3 % of step time; other programs used 5 % of the cores": what is known of it.
[[nodiscard]] std::string coresText(const CoreUse& use);
/// Of `steps`; of ranks whose host threads are not what computes (devices) as well.
[[nodiscard]] CoreUse coreUse(const RecordingSummary& summary, const std::set<StepIndex>& steps);

/// Hardware threads of a machine whose use and stolen time are counted; 0: not known.
[[nodiscard]] std::int32_t coresOfHost(const RecordingSummary& summary, std::int32_t host);

/// From here on it is said of a run, is a warning, and leaves no verdict on it.
inline constexpr double kNotedTaken = 0.1, kManyTaken = 0.3;

/// Of each of `steps`; these add up. `rows`: of all steps that are compared, over ranks.
[[nodiscard]] std::map<StepIndex, CoresTaken> coresTaken(
    const RecordingSummary& summary, const std::map<StepIndex, std::vector<const LedgerRow*>>& rows,
    const std::set<StepIndex>& steps);
[[nodiscard]] CoresTaken sumOf(const std::map<StepIndex, CoresTaken>& steps);

}  // namespace shardscope::analysis
