#include "profiler/analysis/collective_figures.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/groups.h"

#include <map>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Members of each group, looked up once.
class Members {
public:
    explicit Members(const std::vector<RankEvents>& ranks) : m_ranks(ranks) {}
    const std::vector<RankId>& of(std::uint32_t group) {
        const auto [found, fresh] = m_known.try_emplace(group);
        if (fresh) found->second = groupMembers(m_ranks, group);
        return found->second;
    }

private:
    const std::vector<RankEvents>& m_ranks;
    std::map<std::uint32_t, std::vector<RankId>> m_known;
};

/// The last rank to arrive; unknown where not all ranks of a group are recorded.
std::optional<RankId> lateRank(const CollectiveEvent& collective, Members& members) {
    if (collective.group == 0) return lastToArrive(collective, {});
    const std::vector<RankId>& ranks = members.of(collective.group);
    if (ranks.size() != collective.arrivals.size()) return std::nullopt;
    return lastToArrive(collective, ranks);
}

}  // namespace

std::vector<RankId> groupMembers(const std::vector<RankEvents>& ranks, std::uint32_t group) {
    std::vector<RankId> members;
    for (const RankEvents& events : ranks) {
        const bool takesPart =
            group == 0 || std::any_of(events.collectives.begin(), events.collectives.end(),
                                      [group](const auto& each) { return each.group == group; });
        if (takesPart) members.push_back(events.rank);
    }
    std::sort(members.begin(), members.end());
    return members;
}

std::vector<WaitingForRank> lateRanks(const std::vector<RankEvents>& ranks) {
    Members members(ranks);
    std::map<RankId, WaitingForRank> late;
    std::map<RankId, std::set<std::pair<std::uint32_t, std::uint64_t>>> collectives;
    for (const RankEvents& events : ranks) {
        for (const CollectiveEvent& collective : events.collectives) {
            if (collective.step == kNoStep) continue;
            const auto rank = lateRank(collective, members);
            if (!rank) continue;
            late[*rank].late = *rank;
            late[*rank].waited += collective.lastArrival() - collective.start;
            collectives[*rank].insert({collective.group, collective.sequence});
        }
    }
    std::vector<WaitingForRank> worstFirst;
    for (auto& [rank, waiting] : late) {
        waiting.collectives = static_cast<std::int64_t>(collectives[rank].size());
        worstFirst.push_back(waiting);
    }
    std::stable_sort(
        worstFirst.begin(), worstFirst.end(),
        [](const WaitingForRank& a, const WaitingForRank& b) { return a.waited > b.waited; });
    return worstFirst;
}

}  // namespace shardscope::analysis
