// Which key does what on the timeline. W S A D count by their place on the keyboard (scan
// code), so that other layouts keep the block under the left hand. Pure.
#pragma once

#include <QtCore/qnamespace.h>

#include <QtGlobal>

namespace shardscope::desktop {

enum class TimelineCommand {
    kNone,
    kZoomIn,
    kZoomOut,
    kPanLeft,
    kPanRight,
    kScrollUp,
    kScrollDown,
    kFit,
    kZoomToSelection,
    kNextSlice,
    kPreviousSlice,
    kLaneAbove,  ///< to the slice there
    kLaneBelow,
    kNextRank,
    kPreviousRank,
    kFollowBack,     ///< from a kernel to its launch
    kFollowForward,  ///< from a launch to its kernel
    kMark,
    kClear,
    kLevels,  ///< all levels of the lane under the pointer, or the first few
    kTaller,  ///< a counter
    kPin,
    kHide,
    kShowHidden,
    kMoveUp,  ///< of the lane or rank under the pointer
    kMoveDown,
    kFoldAll,
    kUnfoldAll,
    kKinds,      ///< of a thread: nested in one track, or apart
    kFilter,     ///< lanes by a text
    kRulerTime,  ///< absolute, relative, in the step
};

/// `scanCode` 0: not known, the key decides.
[[nodiscard]] TimelineCommand timelineCommand(int key, quint32 scanCode,
                                              Qt::KeyboardModifiers modifiers);

}  // namespace shardscope::desktop
