// Where each lane of the timeline stands: rows grouped by rank, headers, heights. Pure.
#pragma once

#include "app/desktop/models/timeline_frame.h"

#include <QString>
#include <set>
#include <vector>

namespace shardscope::desktop {

struct LaneRow {
    enum class Kind : std::uint8_t { kHeader, kSpans, kCounter };
    Kind kind = Kind::kSpans;
    LaneKey key;
    LaneRole role = LaneRole::kHost;
    QString name;
    QString unit;
    int y = 0;
    int height = 0;
    int depths = 1;          ///< stacked levels of a nested lane
    bool collapsed = false;  ///< headers only
    double theoryBytes = 0;  ///< dashed line of the memory strip; 0: none
};

struct LaneLayoutOptions {
    std::set<RankId> collapsed;
    int operatorDepths = 3;
    std::vector<RankId> ranks;  ///< shown; empty: all
};

struct LaneLayout {
    std::vector<LaneRow> rows;
    int height = 0;

    /// The row at `y`, or null between rows.
    [[nodiscard]] const LaneRow* rowAt(int y) const;
    [[nodiscard]] const LaneRow* row(LaneKey key) const;
    /// Lanes whose content must be loaded.
    [[nodiscard]] std::vector<LaneKey> loadedLanes() const;
};

[[nodiscard]] LaneLayout layOutLanes(const RecordingSummary& summary,
                                     const LaneLayoutOptions& options);

}  // namespace shardscope::desktop
