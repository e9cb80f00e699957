// What can be done on the timeline, by which keys, and how: one table. W S A D count by their place
// on the keyboard (scan code), so that other layouts keep the block under the left hand.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/widgets/key_places.h"

#include <QKeyEvent>

namespace shardscope::desktop {
namespace {

struct Key {
    Qt::Key key;
    Qt::KeyboardModifiers held = {};

    /// Ctrl and Alt must be the only ones held. Shift may be held besides: other layouts need it
    /// for a full stop.
    [[nodiscard]] bool isPressed(int pressed, quint32 scanCode,
                                 Qt::KeyboardModifiers modifiers) const {
        constexpr auto kWhole = Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier;
        if (held & kWhole) return modifiers == held && pressed == key;
        return !(modifiers & kWhole) && (modifiers & held) == held &&
               keyOfBlock(pressed, scanCode) == key;
    }
};

}  // namespace

struct TimelineCanvas::Command {
    TimelineCommand name;
    std::vector<Key> keys;
    void (*act)(TimelineCanvas& canvas);
};

/// Of two that a key could mean the first one counts: what takes Shift stands before what does
/// not.
const std::vector<TimelineCanvas::Command>& TimelineCanvas::commands() {
    using enum TimelineCommand;
    using C = TimelineCanvas&;
    constexpr auto kShift = Qt::ShiftModifier;
    constexpr auto kCtrl = Qt::ControlModifier;
    constexpr auto kAlt = Qt::AltModifier;
    static const std::vector<Command> all{
        {kScrollUp, {{Qt::Key_Up, kShift}, {Qt::Key_PageUp}}, [](C c) { c.scroll(-kScrollStep); }},
        {kScrollDown,
         {{Qt::Key_Down, kShift}, {Qt::Key_PageDown}},
         [](C c) { c.scroll(kScrollStep); }},
        {kZoomIn, {{Qt::Key_W}, {Qt::Key_Up}}, [](C c) { c.zoom(kZoomStep, c.anchor()); }},
        {kZoomOut, {{Qt::Key_S}, {Qt::Key_Down}}, [](C c) { c.zoom(1 / kZoomStep, c.anchor()); }},
        {kPanLeft, {{Qt::Key_A}, {Qt::Key_Left}}, [](C c) { c.pan(-kPanStep); }},
        {kPanRight, {{Qt::Key_D}, {Qt::Key_Right}}, [](C c) { c.pan(kPanStep); }},
        {kFit, {{Qt::Key_F}}, [](C c) { c.changeView(c.m_shown.bounds()); }},
        {kZoomToSelection, {{Qt::Key_Z}}, [](C c) { c.zoomToSelection(); }},
        {kNextSlice, {{Qt::Key_Period}}, [](C c) { c.stepOnLane(true); }},
        {kPreviousSlice, {{Qt::Key_Comma}}, [](C c) { c.stepOnLane(false); }},
        {kLaneAbove, {{Qt::Key_Up, kCtrl}}, [](C c) { c.stepToLane(-1); }},
        {kLaneBelow, {{Qt::Key_Down, kCtrl}}, [](C c) { c.stepToLane(1); }},
        {kPreviousRank, {{Qt::Key_N, kShift}}, [](C c) { c.sameCollectiveRequested(-1); }},
        {kNextRank, {{Qt::Key_N}}, [](C c) { c.sameCollectiveRequested(1); }},
        // brackets need AltGr on many layouts
        {kFollowBack,
         {{Qt::Key_BracketLeft}, {Qt::Key_Left, kCtrl}},
         [](C c) { c.followInTime(false); }},
        {kFollowForward,
         {{Qt::Key_BracketRight}, {Qt::Key_Right, kCtrl}},
         [](C c) { c.followInTime(true); }},
        {kMark, {{Qt::Key_M}}, [](C c) { c.markRequested(c.anchor()); }},
        {kClear, {{Qt::Key_Escape}}, [](C c) { c.clearNext(); }},
        {kUnfoldAll, {{Qt::Key_E, kShift}}, [](C c) { c.act(LaneAction::kUnfoldAll, nullptr); }},
        {kLevels, {{Qt::Key_E}}, [](C c) { c.actOnTarget(LaneAction::kLevels); }},
        {kFoldAll, {{Qt::Key_C, kShift}}, [](C c) { c.act(LaneAction::kFoldAll, nullptr); }},
        {kKinds, {{Qt::Key_K}}, [](C c) { c.act(LaneAction::kKinds, nullptr); }},
        {kTaller, {{Qt::Key_T}}, [](C c) { c.actOnTarget(LaneAction::kTaller); }},
        {kPin, {{Qt::Key_P}}, [](C c) { c.actOnTarget(LaneAction::kPin); }},
        {kShowHidden, {{Qt::Key_H, kShift}}, [](C c) { c.act(LaneAction::kShowHidden, nullptr); }},
        {kHide, {{Qt::Key_H}}, [](C c) { c.actOnTarget(LaneAction::kHide); }},
        {kMoveUp, {{Qt::Key_Up, kAlt}}, [](C c) { c.actOnTarget(LaneAction::kMoveUp); }},
        {kMoveDown, {{Qt::Key_Down, kAlt}}, [](C c) { c.actOnTarget(LaneAction::kMoveDown); }},
        {kFilter, {{Qt::Key_P, kCtrl}}, [](C c) { c.act(LaneAction::kFilter, nullptr); }},
        {kRulerTime,
         {{Qt::Key_R}},
         [](C c) {
             c.m_shown.nextRulerTime();
             c.touchPicture();
         }},
    };
    return all;
}

TimelineCommand TimelineCanvas::commandOf(int key, quint32 scanCode,
                                          Qt::KeyboardModifiers modifiers) {
    for (const Command& command : commands())
        for (const Key& each : command.keys)
            if (each.isPressed(key, scanCode, modifiers)) return command.name;
    return TimelineCommand::kNone;
}

void TimelineCanvas::run(TimelineCommand name) {
    if (!m_shown.recording()) return;
    for (const Command& command : commands())
        if (command.name == name) return command.act(*this);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
    const TimelineCommand command =
        commandOf(event->key(), event->nativeScanCode(), event->modifiers());
    if (command == TimelineCommand::kNone) return QAbstractScrollArea::keyPressEvent(event);
    run(command);
    event->accept();
}

}  // namespace shardscope::desktop
