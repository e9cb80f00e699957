#include "app/desktop/pages/timeline/timeline_keys.h"

#include "app/desktop/widgets/key_places.h"

namespace shardscope::desktop {
TimelineCommand timelineCommand(int key, quint32 scanCode, Qt::KeyboardModifiers modifiers) {
    if (modifiers == Qt::ControlModifier && key == Qt::Key_P) return TimelineCommand::kFilter;
    if (modifiers == Qt::AltModifier && key == Qt::Key_Up) return TimelineCommand::kMoveUp;
    if (modifiers == Qt::AltModifier && key == Qt::Key_Down) return TimelineCommand::kMoveDown;
    // brackets need AltGr on many layouts
    if (modifiers == Qt::ControlModifier && key == Qt::Key_Left)
        return TimelineCommand::kFollowBack;
    if (modifiers == Qt::ControlModifier && key == Qt::Key_Right)
        return TimelineCommand::kFollowForward;
    if (modifiers == Qt::ControlModifier && key == Qt::Key_Up) return TimelineCommand::kLaneAbove;
    if (modifiers == Qt::ControlModifier && key == Qt::Key_Down) return TimelineCommand::kLaneBelow;
    if (modifiers & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return TimelineCommand::kNone;
    const bool shift = modifiers.testFlag(Qt::ShiftModifier);
    switch (keyOfBlock(key, scanCode)) {
        case Qt::Key_W:
            return TimelineCommand::kZoomIn;
        case Qt::Key_S:
            return TimelineCommand::kZoomOut;
        case Qt::Key_A:
            return TimelineCommand::kPanLeft;
        case Qt::Key_D:
            return TimelineCommand::kPanRight;
        case Qt::Key_Up:
            return shift ? TimelineCommand::kScrollUp : TimelineCommand::kZoomIn;
        case Qt::Key_Down:
            return shift ? TimelineCommand::kScrollDown : TimelineCommand::kZoomOut;
        case Qt::Key_Left:
            return TimelineCommand::kPanLeft;
        case Qt::Key_Right:
            return TimelineCommand::kPanRight;
        case Qt::Key_PageUp:
            return TimelineCommand::kScrollUp;
        case Qt::Key_PageDown:
            return TimelineCommand::kScrollDown;
        case Qt::Key_F:
            return TimelineCommand::kFit;
        case Qt::Key_Z:
            return TimelineCommand::kZoomToSelection;
        case Qt::Key_Period:
            return TimelineCommand::kNextSlice;
        case Qt::Key_Comma:
            return TimelineCommand::kPreviousSlice;
        case Qt::Key_N:
            return shift ? TimelineCommand::kPreviousRank : TimelineCommand::kNextRank;
        case Qt::Key_BracketLeft:
            return TimelineCommand::kFollowBack;
        case Qt::Key_BracketRight:
            return TimelineCommand::kFollowForward;
        case Qt::Key_M:
            return TimelineCommand::kMark;
        case Qt::Key_Escape:
            return TimelineCommand::kClear;
        case Qt::Key_E:
            return shift ? TimelineCommand::kUnfoldAll : TimelineCommand::kLevels;
        case Qt::Key_C:
            return shift ? TimelineCommand::kFoldAll : TimelineCommand::kNone;
        case Qt::Key_K:
            return TimelineCommand::kKinds;
        case Qt::Key_T:
            return TimelineCommand::kTaller;
        case Qt::Key_P:
            return TimelineCommand::kPin;
        case Qt::Key_H:
            return shift ? TimelineCommand::kShowHidden : TimelineCommand::kHide;
        case Qt::Key_R:
            return TimelineCommand::kRulerTime;
        default:
            return TimelineCommand::kNone;
    }
}

}  // namespace shardscope::desktop
