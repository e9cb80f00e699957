#include "storage/interchange/builder/rank_lanes.h"

#include "storage/interchange/builder/limits.h"

namespace shardscope::interchange {
namespace {

/// Of each kind fewer than this.
constexpr std::int32_t kPositions = 100'000;

/// Of a trace that a program wrote; each takes memory.
constexpr std::size_t kMostSharing = 1'000'000;

/// Top first: ranges, threads, streams, counters.
std::int32_t positionOf(LaneRole role, std::int32_t index) {
    switch (role) {
        case LaneRole::kRange:
            return index;
        case LaneRole::kHost:
        case LaneRole::kRuntime:
        case LaneRole::kSync:
            return kPositions + index;
        case LaneRole::kCounter:
            return 3 * kPositions + index;
        default:
            return 2 * kPositions + index;
    }
}

}  // namespace

Result<void> RankLanes::tooMany(std::size_t count, const std::string& kind) const {
    return failure(ErrorCode::kUnreadable, "the trace has more than " + std::to_string(count) +
                                               " " + kind + "lanes in rank " +
                                               std::to_string(m_rank.value) +
                                               ": it is damaged, or no trace of a program");
}

Result<LaneId> RankLanes::lane(const LaneSource& key, LaneRole role, const std::string& name,
                               const std::string& unit) {
    if (const auto at = m_keys.find(key); at != m_keys.end()) {
        BuiltLane& known = m_lanes[at->second];
        LaneFacts& facts = known.facts;
        if (facts.role == LaneRole::kHost && role != LaneRole::kHost) {
            facts.role = role;
            facts.order = positionOf(role, facts.order % kPositions);
            known.shown = false;
        }
        const bool shared = facts.order % kPositions == kPositions - 1;
        if (!name.empty() && facts.name != name && !shared) {
            facts.name = name;
            known.shown = false;
        }
        return at->second;
    }
    const LaneRange range = lanes::rangeFor(role);
    std::uint32_t& count = m_made[range.first];
    if (m_sharing > kMostSharing) return failure(tooMany(m_keys.size(), ""));
    if (count >= kMostLanesAKind - 2) return sharedLane(key, role, range.at(count));
    const LaneId id = range.at(count++);
    const auto index = static_cast<std::int32_t>(m_keys.size());
    m_keys.emplace(key, id);
    m_lanes[id].facts = {m_rank, id, role, name, unit, positionOf(role, index)};
    return id;
}

/// The last of a kind, for all that there are more of.
LaneId RankLanes::sharedLane(const LaneSource& key, LaneRole role, LaneId id) {
    m_keys.emplace(key, id);
    ++m_sharing;
    m_lanes[id].facts = {m_rank, id,
                         role,   std::string("more lanes of kind ") + toWord(role),
                         {},     positionOf(role, kPositions - 1)};
    return id;
}

Result<LaneId> RankLanes::laneIfUsed(const LaneSource& key, LaneRole role,
                                     const std::string& name) {
    const bool known = m_keys.contains(key);
    const auto id = lane(key, role, name, {});
    const bool fresh = id && !known && m_lanes[*id].facts.order % kPositions != kPositions - 1;
    if (fresh) m_lanes[*id].needed = false;
    return id;
}

Result<void> RankLanes::declare(const LaneFacts& facts) {
    if (m_lanes.size() >= kMostLanes) return tooMany(m_lanes.size(), "");
    m_lanes[facts.lane].facts = facts;
    return {};
}

BuiltLane* RankLanes::find(LaneId id) {
    const auto at = m_lanes.find(id);
    return at != m_lanes.end() ? &at->second : nullptr;
}

}  // namespace shardscope::interchange
