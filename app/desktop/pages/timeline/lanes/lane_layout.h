// Where each lane of the timeline stands: pinned lanes, then rows grouped by rank, headers,
// heights. Pure.
//
// A rank on a CPU has few lanes, in the order of the recording. Others have dozens: what the engine
// does, then a group for each stream of the device, each host thread, counters, and what says
// little. A folded rank keeps one lane that sums it up; of many ranks each is a thin row of that.
#pragma once

#include "app/desktop/pages/timeline/lanes/lane_identity.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// A group of lanes within its rank, by LaneIdentity::group; "counters" and "other" are two more.
using GroupAddress = std::pair<RankId, QString>;
inline constexpr QLatin1StringView kCounterGroup{"counters"};
inline constexpr QLatin1StringView kOtherGroup{"other"};

struct LaneRow {
    enum class Kind : std::uint8_t {
        kHeader,
        kGroup,
        kSpans,
        kTrack,  ///< all that one thread or stream does, nested by what contains what
        kCounter,
        kSummary,  ///< kernels, copies and collectives of all streams over each other
    };
    Kind kind = Kind::kSpans;
    LaneAddress key;
    LaneRole role = LaneRole::kHost;
    LaneContent content = LaneContent::kRest;
    QString group;          ///< of the lane, or that a group's header stands for
    bool onDevice = false;  ///< a stream of a device
    QString name;
    QString note;        ///< headers only: the rank's device
    bool warns = false;  ///< the note limits trust: a shared device
    QString unit;
    int y = 0;
    int height = 0;
    int indent = 0;                  ///< pixels of the name
    int depths = 1;                  ///< stacked levels that are shown
    int allDepths = 1;               ///< levels that there are, as far as they are known
    bool collapsed = false;          ///< headers only
    bool pinned = false;             ///< stays on top while others scroll
    bool thin = false;               ///< of a heat map: coloured by what dominates a pixel
    bool modelled = false;           ///< times of collectives are of a model
    bool besideName = false;         ///< on the row of its rank's header
    double theoryBytes = 0;          ///< dashed line of the memory strip; 0: none
    std::vector<LaneAddress> parts;  ///< of a summary, what lies below first; of a track its lanes
    std::vector<LaneContent> contents;  ///< of a track's parts

    /// Has its own events, not only those that other rows show too.
    [[nodiscard]] bool isLane() const {
        return kind == Kind::kSpans || kind == Kind::kTrack || kind == Kind::kCounter;
    }
    [[nodiscard]] bool isHeader() const { return kind == Kind::kHeader || kind == Kind::kGroup; }
    [[nodiscard]] int bottom() const { return y + height; }
    /// Whose events a row of spans shows: those of a track, else the one lane.
    [[nodiscard]] std::vector<LaneAddress> lanes() const {
        return parts.empty() ? std::vector{key} : parts;
    }
    /// Levels that are shown until one asks for all.
    [[nodiscard]] int firstDepths() const;
};

struct LaneLayoutOptions {
    std::set<RankId> collapsed;
    std::set<GroupAddress> toggled;                     ///< groups that are not as at first
    std::set<LaneAddress> expanded;                     ///< all levels, not the first few
    std::set<LaneAddress> tall;                         ///< counters that are looked at
    std::set<LaneAddress> hidden;                       ///< until asked for
    std::vector<LaneAddress> pinned;                    ///< top first
    std::map<LaneAddress, int> depths;                  ///< levels that were seen
    std::map<LaneAddress, int> trackDepths;             ///< likewise of tracks, by their first lane
    std::map<GroupAddress, std::vector<LaneId>> order;  ///< of the lanes of a group, as moved
    std::vector<RankId> ranks;                          ///< shown; empty: all
    std::vector<RankId> rankOrder;  ///< top first; ranks that it leaves out follow
    QString filter;                 ///< shows lanes whose rank, group or name has it
    int thinHeight = 12;            ///< of a rank in a heat map
    bool modelledLink = false;      ///< what the ranks' own collectives took is of a model
    bool nested = false;            ///< a thread or stream is one track; else its kinds lie apart
};

/// More ranks than these begin folded.
inline constexpr int kMostUnfolded = 4;
/// More folded ranks than these are thin rows.
inline constexpr int kMostFolded = 16;
/// Levels of a lane, and of a track, that are shown until one asks for all.
inline constexpr int kFirstDepths = 6;
inline constexpr int kFirstTrackDepths = 16;

/// Headers that stay in sight while what they stand for scrolls.
struct StickyHeaders {
    const LaneRow* rank = nullptr;
    const LaneRow* group = nullptr;
    int rankY = 0, groupY = 0;  ///< below the pinned lanes; negative: pushed up by the next
};

struct LaneLayout {
    std::vector<LaneRow> rows;  ///< pinned first, then by y
    std::size_t pinned = 0;     ///< so many rows
    int pinnedHeight = 0;       ///< of the others none is above
    int height = 0;

    /// The row at `y`, or null between rows; a header before the lane beside it.
    [[nodiscard]] const LaneRow* rowAt(int y) const;
    /// Of a lane, be it of a track; else of the summary that it is part of.
    [[nodiscard]] const LaneRow* row(LaneAddress key) const;
    /// Rows that scroll of which some is in [top, bottom).
    [[nodiscard]] std::span<const LaneRow> between(int top, int bottom) const;
    /// Lanes whose content must be loaded: of all rows, or of pinned ones and those in [top,
    /// bottom).
    [[nodiscard]] std::vector<LaneAddress> loadedLanes() const;
    [[nodiscard]] std::vector<LaneAddress> loadedLanes(int top, int bottom) const;
    /// Those of them that nest, track by track.
    [[nodiscard]] std::vector<std::vector<LaneAddress>> loadedTracks(int top, int bottom) const;
    /// What stays where rows above `top` are out of sight.
    [[nodiscard]] StickyHeaders stickyAt(int top) const;
};

/// As a recording is shown first.
[[nodiscard]] LaneLayoutOptions firstOptions(const RecordingSummary& summary);
[[nodiscard]] LaneLayout layOutLanes(const RecordingSummary& summary,
                                     const LaneLayoutOptions& options);
/// `options` with the folds opened that hide this lane.
[[nodiscard]] LaneLayoutOptions revealing(const RecordingSummary& summary,
                                          LaneLayoutOptions options, LaneAddress key);

}  // namespace shardscope::desktop
