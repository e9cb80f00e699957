// Who came last to collectives, as far as that is known.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/rules/late_rank.h"
#include "profiler/analysis/rules/rule.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace shardscope::analysis {

struct LastArrival {
    std::optional<RankId> rank;  ///< none: arrivals of the group's ranks are not known
    bool certain = false;        ///< it was later by more than hosts' clocks are in doubt
};

/// Ranks that share a collective's arrivals share the answer, which costs as much as the group has
/// ranks. One thread; `ranks` say who is in a group; refers to `clocks`.
class LastArrivals {
public:
    LastArrivals(const std::vector<RankEvents>& ranks, const HostClocks& clocks)
        : m_groups(ranks), m_clocks(clocks) {}

    [[nodiscard]] LastArrival of(const CollectiveEvent& collective);
    [[nodiscard]] const std::vector<RankId>& members(std::uint32_t group) const {
        return m_groups.of(group);
    }

private:
    [[nodiscard]] LastArrival find(const CollectiveEvent& collective) const;

    const Groups m_groups;
    const HostClocks& m_clocks;
    struct Known {
        Arrivals arrivals;  ///< kept, so that no other list is where this one was
        LastArrival last;
    };
    std::unordered_map<const Timestamp*, Known> m_known;  ///< by the list of arrivals
};

// What a report needs of one rank's events. They need not stay in memory behind it: what is here
// grows with the rank's steps at most. Pure; any thread. Internal to profiler/analysis.

/// A rank without what grows with the run: of its phases those that set their step aside, of each
/// group one collective, and the peak of its memory. Who is in a group, which steps are compared
/// and whose memory may grow it tells as the whole rank does.
[[nodiscard]] RankEvents outlineOf(const RankEvents& events);

/// What is shown of a rank, or of its part of a run: `events` are cut at the part's edges, and who
/// came last is counted in whole collectives.
struct ShownRank {
    const RankEvents& events;
    const std::vector<CollectiveEvent>* whole = nullptr;  ///< null: those of `events` are
    [[nodiscard]] const std::vector<CollectiveEvent>& collectives() const {
        return whole != nullptr ? *whole : events.collectives;
    }
};

/// Whom a rank waited for, in and out of its step thread.
struct LateShare {
    RankWaits waits;
    BlockedTime blocked;
};
[[nodiscard]] LateShare lateShare(const ShownRank& rank, LastArrivals& arrivals);

struct RankShare {
    RankEvents outline;
    std::uint64_t collectives = 0;
    bool withinSteps = true;
    bool seesPeers = false;  ///< knows of some collective when others arrived
    Overlap overlap;
    StepOverlaps overlapBySteps;
    std::vector<LedgerRow> ledger;
    RankMemory memory;
    std::optional<DeviceUse> device;
    RecordedSteps recorded;
    HideableTime hideable;          ///< of a rank that is looked at for it
    std::optional<LateShare> late;  ///< where it takes no other rank to be known
};
struct ShareInput {
    const RecordingSummary& summary;
    const RecordingSummary& detailed;  ///< with those steps only that have phases and collectives
    const std::vector<LedgerRow>& deviceRows;  ///< of this rank, or of more
    bool isLookedAt = false;                   ///< for hideable time
    std::vector<TimeRange> copies = {};        ///< of this rank's device
};
[[nodiscard]] RankShare shareOf(const ShareInput& input, const RankEvents& events);

}  // namespace shardscope::analysis
