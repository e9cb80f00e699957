#include "profiler/analysis/communication/last_arrivals.h"

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/steps/slow_steps.h"

#include <algorithm>
#include <set>
#include <utility>

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

RankEvents outlineOf(const RankEvents& events) {
    RankEvents outline;
    outline.rank = events.rank;
    outline.peakMemory = events.peakMemory;
    outline.peakTime = events.peakTime;
    outline.peakByCategory = events.peakByCategory;
    outline.hasMemoryEvents = events.hasMemoryEvents;
    for (const SpanEvent& phase : events.phases)
        if (setsAside(phase.phase)) outline.phases.push_back(phase);
    std::set<std::uint32_t> groups;
    for (const CollectiveEvent& event : events.collectives) {
        if (!outline.collectives.empty() && outline.collectives.back().group == event.group)
            continue;
        if (!groups.insert(event.group).second) continue;
        outline.collectives.push_back(event);
        outline.collectives.back().arrivals = {};
    }
    return outline;
}

LateShare lateShare(const ShownRank& rank, LastArrivals& arrivals) {
    return {waitsOf(rank.collectives(), arrivals), blockedTime(rank.events, arrivals)};
}

RankShare shareOf(const ShareInput& input, const RankEvents& events) {
    RankShare share;
    share.outline = outlineOf(events);
    share.collectives = events.collectives.size();
    share.withinSteps = hasSteps(input.summary, events);
    share.seesPeers =
        std::any_of(events.collectives.begin(), events.collectives.end(),
                    [](const CollectiveEvent& each) { return each.arrivals.size() > 1; });
    share.overlap = rankOverlap(input.detailed, events, share.overlapBySteps);
    share.ledger = rankLedger(input.detailed, events, input.deviceRows);
    share.memory = rankMemory(input.summary, events);
    share.device = deviceUse(input.detailed, events, input.copies);
    share.recorded = recordedSteps(events);
    if (input.isLookedAt) share.hideable = hideableTime(input.detailed, events);
    return share;
}

}  // namespace shardscope::analysis
