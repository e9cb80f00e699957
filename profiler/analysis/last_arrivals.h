// Who came last to collectives, as far as that can be told.
#pragma once

#include "profiler/analysis/groups.h"
#include "profiler/analysis/host_clocks.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace shardscope::analysis {

struct LastArrival {
    std::optional<RankId> rank;  ///< none: arrivals of the group's ranks are not known
    bool told = false;           ///< it was later by more than hosts' clocks are in doubt
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

}  // namespace shardscope::analysis
