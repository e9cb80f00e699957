#include "engine/launch/program/stall_watch.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace shardscope::launch {

void StallWatch::note(RankId rank, const capture::CollectiveProgress& progress) {
    m_ranks.insert(rank);
    m_groups[progress.group][rank] = progress;
}

void StallWatch::nameGroup(const std::string& group, const std::string& ranks) {
    std::set<RankId>& members = m_members[group];
    members.clear();
    for (std::string_view rest = ranks; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        std::uint32_t number = 0;
        if (std::from_chars(rest.data(), rest.data() + end, number).ec == std::errc{})
            members.insert(RankId{number});
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

void StallWatch::forget(RankId rank) {
    m_ranks.erase(rank);
    for (auto& [group, ranks] : m_groups) ranks.erase(rank);
}

std::set<RankId> StallWatch::membersOf(const std::string& group) const {
    const auto named = m_members.find(group);
    return named == m_members.end() || named->second.empty() ? m_ranks : named->second;
}

std::vector<Stall> StallWatch::look(Duration limit) {
    std::vector<Stall> stalls;
    for (const auto& [name, ranks] : m_groups) {
        std::map<std::uint64_t, Stall> found;
        for (const auto& [rank, progress] : ranks) {
            if (progress.operation.empty() || progress.openNs < limit.ns) continue;
            Stall& stall = found[progress.sequence];
            stall.operation = progress.operation;
            stall.waited = std::max(stall.waited, Duration{progress.openNs});
            stall.waiting.push_back(rank);
        }
        for (auto& [sequence, stall] : found) {
            if (!m_said.emplace(name, sequence).second) continue;
            stall.group = name;
            stall.sequence = sequence;
            for (const RankId member : membersOf(name)) {
                const auto known = ranks.find(member);
                if (known == ranks.end() || known->second.issued <= sequence)
                    stall.missing.push_back(member);
            }
            stalls.push_back(std::move(stall));
        }
    }
    return stalls;
}

}  // namespace shardscope::launch
