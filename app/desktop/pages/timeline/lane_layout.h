// Where each lane of the timeline stands: rows grouped by rank, headers, heights. Pure.
//
// A rank on a CPU has few lanes, in the order of the recording. A rank on a GPU has dozens:
// what the engine does, then groups that fold: streams of the device (kernels, kernels of NCCL,
// copies), host threads (operators, CUDA calls, waits), counters.
#pragma once

#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::desktop {

enum class LaneGroup : std::uint8_t {
    kEngine = 0,  ///< below the rank's own header
    kStreams,
    kHost,
    kCounters,  ///< folded until asked for: a device alone has some twenty
};

struct LaneRow {
    enum class Kind : std::uint8_t { kHeader, kGroup, kSpans, kCounter };
    Kind kind = Kind::kSpans;
    LaneAddress key;
    LaneRole role = LaneRole::kHost;
    LaneGroup group = LaneGroup::kEngine;
    bool onDevice = false;  ///< a stream of a device
    QString name;
    QString note;        ///< headers only: the rank's device
    bool warns = false;  ///< the note limits trust: a shared device
    QString unit;
    int y = 0;
    int height = 0;
    int indent = 0;          ///< pixels of the name
    int depths = 1;          ///< stacked levels of a nested lane
    bool collapsed = false;  ///< headers only
    double theoryBytes = 0;  ///< dashed line of the memory strip; 0: none

    [[nodiscard]] bool isLane() const { return kind == Kind::kSpans || kind == Kind::kCounter; }
};

struct LaneLayoutOptions {
    std::set<RankId> collapsed;
    std::set<std::pair<RankId, LaneGroup>> toggled;  ///< groups that are not as at first
    int operatorDepths = 3;
    std::vector<RankId> ranks;  ///< shown; empty: all
};

struct LaneLayout {
    std::vector<LaneRow> rows;
    int height = 0;

    /// The row at `y`, or null between rows.
    [[nodiscard]] const LaneRow* rowAt(int y) const;
    [[nodiscard]] const LaneRow* row(LaneAddress key) const;
    /// Lanes whose content must be loaded.
    [[nodiscard]] std::vector<LaneAddress> loadedLanes() const;
};

[[nodiscard]] LaneLayout layOutLanes(const RecordingSummary& summary,
                                     const LaneLayoutOptions& options);
/// `options` with the folds opened that hide this lane.
[[nodiscard]] LaneLayoutOptions revealing(const RecordingSummary& summary,
                                          LaneLayoutOptions options, LaneAddress key);

}  // namespace shardscope::desktop
