#include "engine/launch/program/stall_watch.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace shardscope::launch {
namespace {

/// "rank 0", "ranks 0, 2 and 3 more"
std::string ranksText(const std::vector<RankId>& ranks) {
    constexpr std::size_t kMostNamed = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i].value);
    if (ranks.size() > kMostNamed) text += fmt::format(" and {} more", ranks.size() - kMostNamed);
    return text;
}

}  // namespace

Diagnostic stallDiagnostic(const Stall& stall, const std::string& states, Timestamp now) {
    std::string text =
        fmt::format("{} has waited {} in {} number {} of group {}, ", ranksText(stall.waiting),
                    durationText(stall.waited), stall.operation, stall.sequence, stall.group);
    if (stall.missing.empty())
        text += "which all of its ranks have entered: the network or a process holds it up";
    else
        text += fmt::format("which {} has not entered", ranksText(stall.missing));
    return {Severity::kWarning,
            "rank-stalled",
            text + states,
            "Look at what that rank does, as with py-spy dump --pid.",
            stall.about(),
            now,
            1};
}

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
