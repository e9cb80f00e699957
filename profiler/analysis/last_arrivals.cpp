#include "profiler/analysis/last_arrivals.h"

#include "profiler/analysis/collective_figures.h"

namespace shardscope::analysis {

LastArrival LastArrivals::of(const CollectiveEvent& collective) {
    if (!m_clocks.several() || collective.arrivals.empty()) return find(collective);
    const auto [known, fresh] = m_known.try_emplace(collective.arrivals.begin());
    if (fresh) known->second = {collective.arrivals, find(collective)};
    return known->second.last;
}

/// The world's places are its ranks, whether or not all of them are recorded.
LastArrival LastArrivals::find(const CollectiveEvent& collective) const {
    static const std::vector<RankId> kPlaces;
    const bool world = collective.group == 0;
    const std::vector<RankId>& places = world ? kPlaces : members(collective.group);
    if (!world && places.size() != collective.arrivals.size()) return {};
    const auto rank = lastToArrive(collective, places);
    if (!rank) return {};
    return {rank, m_clocks.tellsLast(collective, places)};
}

}  // namespace shardscope::analysis
