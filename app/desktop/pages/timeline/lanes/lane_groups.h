// The lanes of a rank as they belong together: what sums it up, and its groups. Pure; part of the
// layout.
#pragma once

#include "app/desktop/pages/timeline/lanes/lane_identity.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"

#include <QString>
#include <span>
#include <vector>

namespace shardscope::desktop {

using Lanes = std::span<const LaneFacts>;

/// The lanes of a rank, which lie together.
[[nodiscard]] Lanes lanesOf(const RecordingSummary& summary, RankId rank);
/// Memory by category belongs to the Memory page; here one strip of the sum will do.
[[nodiscard]] bool isShown(const LaneFacts& lane);
/// What sums up a rank that is folded: its kernels, over collectives, over copies; else its phases;
/// else its first lane.
[[nodiscard]] std::vector<LaneAddress> summaryOf(Lanes lanes);

/// A lane and what it is.
struct KnownLane {
    const LaneFacts* facts = nullptr;
    LaneIdentity identity;
    [[nodiscard]] LaneAddress key() const { return {facts->rank, facts->lane}; }
};

struct LaneGroupOfRank {
    LaneSection section = LaneSection::kEngine;
    QString key, name;
    std::vector<KnownLane> lanes;
};

/// In the order in which they are shown; a group without a key has no header.
[[nodiscard]] std::vector<LaneGroupOfRank> groupsOf(const RankFacts& rank, Lanes lanes,
                                                    const LaneLayoutOptions& options);
/// By content, then as they were moved; null: not at all.
void sortLanes(LaneGroupOfRank& group, const std::vector<LaneId>* moved);
/// `alone`: it is the only group of its rank.
[[nodiscard]] bool isFolded(const LaneLayoutOptions& options, RankId rank,
                            const LaneGroupOfRank& group, bool alone);

}  // namespace shardscope::desktop
