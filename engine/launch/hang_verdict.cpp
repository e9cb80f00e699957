#include "engine/launch/rank_watch.h"

#include <algorithm>
#include <map>
#include <vector>

namespace shardscope::launch {
namespace {

using Ranks = std::span<const RankEvidence>;

/// Of those that `fits`, the one that has stood still for longest.
template <class Fits>
std::optional<std::size_t> longest(Ranks ranks, Fits fits) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (!fits(ranks[i])) continue;
        if (!found || ranks[i].standsFor > ranks[*found].standsFor) found = i;
    }
    return found;
}

/// Whom `from` waited for in the end. Nothing where ranks waited for each other, or where one gave
/// up without a word on that.
std::optional<std::size_t> endOfChain(Ranks ranks, std::size_t from) {
    std::vector<bool> met(ranks.size());
    for (std::size_t at = from; at < ranks.size() && !met[at]; at = *ranks[at].waitedFor) {
        met[at] = true;
        if (!ranks[at].waitedFor) return ranks[at].gaveUp ? std::nullopt : std::optional(at);
    }
    return std::nullopt;
}

/// The first rank that waited itself, rather than heard of one that did.
std::size_t firstWitness(Ranks ranks, std::size_t first) {
    if (ranks[first].waitedFor && !ranks[first].hearsay) return first;
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (ranks[i].waitedFor && !ranks[i].hearsay) return i;
    return first;
}

}  // namespace

std::optional<std::size_t> findCulprit(Ranks ranks, std::size_t first) {
    if (first >= ranks.size()) return std::nullopt;
    if (const auto held = longest(ranks, [](const RankEvidence& each) { return each.held; }))
        return held;
    const auto end = endOfChain(ranks, firstWitness(ranks, first));
    const auto idle = [](const RankEvidence& each) {
        return each.seen && !each.waits && !each.gaveUp;
    };
    // What the end of the chain is seen to do decides: one that waits as well gave no word yet.
    if (end && *end != first && (idle(ranks[*end]) || !ranks[*end].seen)) return end;
    if (const auto found = longest(ranks, idle)) return found;
    return end && *end != first ? end : std::nullopt;
}

std::vector<std::size_t> findSeveredHosts(Ranks ranks, std::span<const std::size_t> hostOf,
                                          std::size_t first) {
    std::map<std::size_t, std::size_t> waits;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const RankEvidence& rank = ranks[i];
        if (rank.hearsay || !rank.waitedFor || *rank.waitedFor >= ranks.size()) continue;
        if (const std::size_t other = hostOf[*rank.waitedFor]; other != hostOf[i])
            waits.emplace(hostOf[i], other);
    }
    std::vector<std::size_t> way;
    auto at = first < ranks.size() ? waits.find(hostOf[first]) : waits.end();
    for (; at != waits.end(); at = waits.find(at->second)) {
        const auto met = std::find(way.begin(), way.end(), at->first);
        if (met != way.end()) return {met, way.end()};
        way.push_back(at->first);
    }
    return {};
}

}  // namespace shardscope::launch
