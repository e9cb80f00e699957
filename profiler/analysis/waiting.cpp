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

/// As lastToArrive() takes them; none where not all ranks of a group are recorded.
std::optional<std::vector<RankId>> placesOf(const CollectiveEvent& collective, Members& members) {
    if (collective.group == 0) return std::vector<RankId>();
    const std::vector<RankId>& ranks = members.of(collective.group);
    if (ranks.size() != collective.arrivals.size()) return std::nullopt;
    return ranks;
}

using Collectives = std::set<std::pair<std::uint32_t, std::uint64_t>>;

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

LateRanks lateRanks(const std::vector<RankEvents>& ranks, const HostClocks& clocks) {
    Members members(ranks);
    std::map<RankId, WaitingForRank> late;
    std::map<RankId, Collectives> collectives;
    Collectives untold;
    LateRanks found;
    for (const RankEvents& events : ranks) {
        for (const CollectiveEvent& collective : events.collectives) {
            if (collective.step == kNoStep) continue;
            const auto places = placesOf(collective, members);
            const auto rank = places ? lastToArrive(collective, *places) : std::nullopt;
            if (!rank) continue;
            const Duration waited = collective.lastArrival() - collective.start;
            if (!clocks.tellsLast(collective, *places)) {
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
