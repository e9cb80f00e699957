#include "profiler/analysis/findings.h"
#include "profiler/analysis/last_arrivals.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

using Collectives = std::set<std::pair<std::uint32_t, std::uint64_t>>;

}  // namespace

LateRanks lateRanks(const std::vector<RankEvents>& ranks, const HostClocks& clocks) {
    LastArrivals last(ranks, clocks);
    std::map<RankId, WaitingForRank> late;
    std::map<RankId, Collectives> collectives;
    Collectives untold;
    LateRanks found;
    for (const RankEvents& events : ranks) {
        for (const CollectiveEvent& collective : events.collectives) {
            if (collective.step == kNoStep) continue;
            const auto [rank, told] = last.of(collective);
            if (!rank) continue;
            const Duration waited = collective.lastArrival() - collective.start;
            if (!told) {
                found.untold.waited += waited;
                untold.insert({collective.group, collective.sequence});
                continue;
            }
            late[*rank].late = *rank;
            late[*rank].waited += waited;
            collectives[*rank].insert({collective.group, collective.sequence});
        }
    }
    found.untold.collectives = static_cast<std::int64_t>(untold.size());
    std::vector<WaitingForRank>& worstFirst = found.named;
    for (auto& [rank, waiting] : late) {
        waiting.collectives = static_cast<std::int64_t>(collectives[rank].size());
        worstFirst.push_back(waiting);
    }
    std::stable_sort(
        worstFirst.begin(), worstFirst.end(),
        [](const WaitingForRank& a, const WaitingForRank& b) { return a.waited > b.waited; });
    return found;
}

}  // namespace shardscope::analysis
