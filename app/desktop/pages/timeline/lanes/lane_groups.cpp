#include "app/desktop/pages/timeline/lanes/lane_groups.h"

#include "storage/model/rank_facts.h"

#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// What is below the rest first: of what runs at once only what is not hidden is seen.
int layerOf(LaneRole role) {
    switch (role) {
        case LaneRole::kCopy:
            return 0;
        case LaneRole::kCommunication:
            return 1;
        default:
            return 2;
    }
}

QString streamUse(const std::vector<KnownLane>& lanes) {
    QString uses;
    const auto add = [&uses](const QString& use) {
        if (!uses.contains(use)) uses += (uses.isEmpty() ? QString() : u", "_s) + use;
    };
    for (const KnownLane& lane : lanes) {
        if (lane.identity.content == LaneContent::kKernels) add(u"compute"_s);
        if (lane.identity.content == LaneContent::kCollectiveKernels) add(u"communication"_s);
        if (lane.identity.content == LaneContent::kCopies && lanes.size() == 1) add(u"copies"_s);
    }
    return uses;
}

/// Streams that compute first, then those of collectives; the main thread before the others.
int rankOf(const LaneGroupOfRank& group) {
    if (group.section == LaneSection::kThreads) {
        if (group.name.startsWith("main thread"_L1)) return 0;
        return group.name.endsWith("(backward)"_L1) ? 1 : 2;
    }
    int best = 3;
    for (const KnownLane& lane : group.lanes) {
        if (lane.identity.content == LaneContent::kKernels) best = std::min(best, 0);
        if (lane.identity.content == LaneContent::kCollectiveKernels) best = std::min(best, 1);
        if (lane.identity.content == LaneContent::kCopies) best = std::min(best, 2);
    }
    return best;
}

}  // namespace

Lanes lanesOf(const RecordingSummary& summary, RankId rank) {
    const auto found = std::ranges::equal_range(summary.lanes, rank, {}, &LaneFacts::rank);
    return {found.begin(), found.end()};
}

bool isShown(const LaneFacts& lane) {
    if (lane.role != LaneRole::kCounter) return true;
    return lane.lane == kMemoryTotalLane || !isMemoryLane(lane.lane);
}

std::vector<LaneAddress> summaryOf(Lanes lanes) {
    std::vector<const LaneFacts*> streams;
    const LaneFacts* phases = nullptr;
    const LaneFacts* host = nullptr;
    const LaneFacts* first = nullptr;
    for (const LaneFacts& lane : lanes) {
        const bool works = lane.role == LaneRole::kCompute ||
                           lane.role == LaneRole::kCommunication || lane.role == LaneRole::kCopy;
        if (isStreamLane(lane.lane) && works) streams.push_back(&lane);
        if (phases == nullptr && lane.role == LaneRole::kCompute && !isStreamLane(lane.lane))
            phases = &lane;
        if (host == nullptr && lane.role == LaneRole::kHost) host = &lane;
        if (first == nullptr && lane.role != LaneRole::kCounter) first = &lane;
    }
    std::stable_sort(streams.begin(), streams.end(), [](const LaneFacts* a, const LaneFacts* b) {
        return layerOf(a->role) < layerOf(b->role);
    });
    std::vector<LaneAddress> parts;
    for (const LaneFacts* lane : streams) parts.push_back({lane->rank, lane->lane});
    if (!parts.empty()) return parts;
    for (const LaneFacts* lane : {phases, host, first})
        if (lane != nullptr) return {{lane->rank, lane->lane}};
    return {};
}

void sortLanes(LaneGroupOfRank& group, const std::vector<LaneId>* moved) {
    std::stable_sort(group.lanes.begin(), group.lanes.end(),
                     [](const KnownLane& a, const KnownLane& b) {
                         return a.identity.content < b.identity.content;
                     });
    if (moved == nullptr) return;
    const auto placeOf = [moved](const KnownLane& lane) {
        return std::find(moved->begin(), moved->end(), lane.facts->lane) - moved->begin();
    };
    std::stable_sort(
        group.lanes.begin(), group.lanes.end(),
        [&](const KnownLane& a, const KnownLane& b) { return placeOf(a) < placeOf(b); });
}

bool isFolded(const LaneLayoutOptions& options, RankId rank, const LaneGroupOfRank& group,
              bool alone) {
    const bool atFirst =
        group.section == LaneSection::kCounters || (group.section == LaneSection::kOther && !alone);
    return atFirst != options.toggled.contains({rank, group.key});
}

std::vector<LaneGroupOfRank> groupsOf(const RankFacts& rank, Lanes lanes,
                                      const LaneLayoutOptions& options) {
    std::vector<LaneGroupOfRank> groups;
    const auto groupFor = [&](const LaneIdentity& lane) -> LaneGroupOfRank& {
        const QString key = lane.section == LaneSection::kCounters ? QString(kCounterGroup)
                            : lane.section == LaneSection::kOther  ? QString(kOtherGroup)
                                                                   : lane.group;
        for (LaneGroupOfRank& group : groups)
            if (group.section == lane.section && group.key == key) return group;
        return groups.emplace_back(LaneGroupOfRank{lane.section, key, lane.groupName, {}});
    };
    for (const LaneFacts& lane : lanes) {
        if (!isShown(lane)) continue;
        LaneIdentity identity = identify(lane, rank);
        LaneGroupOfRank& group = groupFor(identity);
        group.lanes.push_back({&lane, std::move(identity)});
    }
    for (LaneGroupOfRank& group : groups) {
        const auto moved = options.order.find({rank.rank, group.key});
        const bool sorted =
            group.section == LaneSection::kStreams || group.section == LaneSection::kThreads;
        if (sorted || moved != options.order.end())
            sortLanes(group, moved != options.order.end() ? &moved->second : nullptr);
        if (group.section == LaneSection::kStreams)
            if (const QString use = streamUse(group.lanes); !use.isEmpty())
                group.name += u" (%1)"_s.arg(use);
        if (group.section == LaneSection::kCounters)
            group.name = u"counters (%1)"_s.arg(group.lanes.size());
        if (group.section == LaneSection::kOther)
            group.name = u"other (%1)"_s.arg(group.lanes.size());
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const LaneGroupOfRank& a, const LaneGroupOfRank& b) {
                         return std::pair(a.section, rankOf(a)) < std::pair(b.section, rankOf(b));
                     });
    return groups;
}

}  // namespace shardscope::desktop
