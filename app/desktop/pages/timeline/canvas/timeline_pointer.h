// The mouse over the timeline: where it is, and what a button that is held does with its move. A
// state machine without a widget.
#pragma once

#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "storage/model/units.h"

#include <QPointF>
#include <QString>
#include <optional>

namespace shardscope::desktop {

class TimelinePointer {
public:
    enum class Drag { kNone, kSelects, kPans };

    /// `view`: what is shown when the button goes down; a pan moves it.
    void press(QPointF at, TimeRange view, bool pans);
    void move(QPointF at);
    /// What the button did; the caller asks for it before.
    void release() { m_held.reset(); }
    void leave() { m_at.reset(); }

    /// nullopt: outside.
    [[nodiscard]] const std::optional<QPointF>& at() const { return m_at; }
    [[nodiscard]] bool isHeld() const { return m_held.has_value(); }
    /// kNone as long as a release would be a click.
    [[nodiscard]] Drag drag() const;
    /// Of a pan: the view it began with, and how far it went to the right.
    [[nodiscard]] TimeRange viewBefore() const { return m_held ? m_held->view : TimeRange{}; }
    [[nodiscard]] double moved() const;
    /// Of a selection: from left to right.
    struct Stretch {
        double left = 0;
        double right = 0;
    };
    [[nodiscard]] Stretch stretch() const;

private:
    struct Held {
        QPointF from;
        TimeRange view;
        bool pans = false;
        bool moved = false;
    };
    std::optional<QPointF> m_at;
    std::optional<Held> m_held;
};

// What the status line says of the place under the pointer. Pure.

/// Of a slice what the box says of it, of a counter its value, else the moment; empty outside the
/// lanes. `frame` may be null.
[[nodiscard]] QString hoverLine(const TimelineViewport& viewport, const TimelineFrame* frame,
                                const std::optional<TimelineHit>& hovered, QPointF at);

}  // namespace shardscope::desktop
