#include "profiler/analysis/findings.h"

#include <map>
#include <set>

namespace shardscope::analysis {
namespace {

/// The last rank to arrive. Only the world's group, in which position and rank are the same.
std::optional<RankId> lateRank(const CollectiveEvent& collective) {
    if (collective.group != 0 || collective.arrivals.size() < 2) return std::nullopt;
    const auto last = std::max_element(collective.arrivals.begin(), collective.arrivals.end());
    return RankId{static_cast<std::uint32_t>(last - collective.arrivals.begin())};
}

}  // namespace

std::vector<WaitingForRank> lateRanks(const std::vector<RankEvents>& ranks) {
    std::map<RankId, WaitingForRank> late;
    std::map<RankId, std::set<std::uint64_t>> sequences;
    for (const RankEvents& events : ranks) {
        for (const CollectiveEvent& collective : events.collectives) {
            if (collective.step == kNoStep) continue;
            const auto rank = lateRank(collective);
            if (!rank) continue;
            late[*rank].late = *rank;
            late[*rank].waited += collective.lastArrival() - collective.start;
            sequences[*rank].insert(collective.sequence);
        }
    }
    std::vector<WaitingForRank> worstFirst;
    for (auto& [rank, waiting] : late) {
        waiting.collectives = static_cast<std::int64_t>(sequences[rank].size());
        worstFirst.push_back(waiting);
    }
    std::stable_sort(
        worstFirst.begin(), worstFirst.end(),
        [](const WaitingForRank& a, const WaitingForRank& b) { return a.waited > b.waited; });
    return worstFirst;
}

}  // namespace shardscope::analysis
