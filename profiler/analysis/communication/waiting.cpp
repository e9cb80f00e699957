#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/findings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Each once, in order.
void settle(RankWaits::Waits& waits) {
    auto& keys = waits.collectives;
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

void addTo(RankWaits::Waits& sum, const RankWaits::Waits& waits) {
    sum.waited += waits.waited;
    std::vector<RankWaits::Key> both;
    both.reserve(std::max(sum.collectives.size(), waits.collectives.size()));
    std::set_union(sum.collectives.begin(), sum.collectives.end(), waits.collectives.begin(),
                   waits.collectives.end(), std::back_inserter(both));
    sum.collectives = std::move(both);
}

}  // namespace

RankWaits waitsOf(const std::vector<CollectiveEvent>& collectives, LastArrivals& last) {
    RankWaits waits;
    for (const CollectiveEvent& collective : collectives) {
        if (collective.step == kNoStep) continue;
        const auto [rank, known] = last.of(collective);
        if (!rank) continue;
        RankWaits::Waits& of = known ? waits.forRank[*rank] : waits.unknown;
        of.waited += collective.lastArrival() - collective.start;
        of.collectives.emplace_back(collective.group, collective.sequence);
    }
    for (auto& [rank, of] : waits.forRank) settle(of);
    settle(waits.unknown);
    return waits;
}

void WaitTally::add(const RankWaits& waits) {
    for (const auto& [rank, of] : waits.forRank) addTo(m_all.forRank[rank], of);
    addTo(m_all.unknown, waits.unknown);
}

LateRanks WaitTally::lateRanks() const {
    LateRanks found;
    found.unknown.waited = m_all.unknown.waited;
    found.unknown.collectives = static_cast<std::int64_t>(m_all.unknown.collectives.size());
    for (const auto& [rank, of] : m_all.forRank) {
        WaitingForRank& waiting = found.named.emplace_back();
        waiting.late = rank;
        waiting.waited = of.waited;
        waiting.collectives = static_cast<std::int64_t>(of.collectives.size());
    }
    std::stable_sort(
        found.named.begin(), found.named.end(),
        [](const WaitingForRank& a, const WaitingForRank& b) { return a.waited > b.waited; });
    return found;
}

LateRanks lateRanks(const std::vector<RankEvents>& ranks, const HostClocks& clocks) {
    LastArrivals last(ranks, clocks);
    WaitTally tally;
    for (const RankEvents& events : ranks) tally.add(waitsOf(events.collectives, last));
    return tally.lateRanks();
}

}  // namespace shardscope::analysis
