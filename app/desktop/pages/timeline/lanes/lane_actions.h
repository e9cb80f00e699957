// What one can do to lanes besides folding their rank: pin, hide, move, show all levels. Pure: from
// options to options.
#pragma once

#include "app/desktop/pages/timeline/lanes/lane_layout.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

enum class LaneAction {
    kFold,  ///< or unfold: a rank, a group
    kLevels,
    kTaller,
    kPin,
    kHide,
    kMoveUp,
    kMoveDown,
    kShowHidden,
    kFoldAll,
    kUnfoldAll,
    kKinds,   ///< of threads and streams: nested in one track, or apart
    kFilter,  ///< asks for a text: changes no options by itself
};

struct LaneChoice {
    LaneAction action = LaneAction::kFold;
    QString text;
    QString key;
};

/// What can be done with a row; null: with none in particular.
[[nodiscard]] std::vector<LaneChoice> laneChoices(const LaneRow* row,
                                                  const LaneLayoutOptions& options);
/// `options` after an action; the same where it does not apply to `row`. `layout` is that of
/// `options`.
[[nodiscard]] LaneLayoutOptions applied(const RecordingSummary& summary, const LaneLayout& layout,
                                        LaneLayoutOptions options, LaneAction action,
                                        const LaneRow* row);

}  // namespace shardscope::desktop
