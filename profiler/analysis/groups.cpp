#include "profiler/analysis/groups.h"

#include <algorithm>
#include <set>

namespace shardscope::analysis {
namespace {

std::set<std::uint32_t> groupsOf(const RankEvents& events) {
    std::set<std::uint32_t> groups{0};
    std::uint32_t last = 0;
    for (const CollectiveEvent& event : events.collectives) {
        if (event.group == last) continue;
        last = event.group;
        groups.insert(last);
    }
    return groups;
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

Groups::Groups(const std::vector<RankEvents>& ranks) {
    for (const RankEvents& events : ranks)
        for (const std::uint32_t group : groupsOf(events)) m_members[group].push_back(events.rank);
    for (auto& [group, members] : m_members) std::sort(members.begin(), members.end());
}

const std::vector<RankId>& Groups::of(std::uint32_t group) const {
    const auto found = m_members.find(group);
    return found == m_members.end() ? m_nobody : found->second;
}

}  // namespace shardscope::analysis
