// What lies over the lanes and changes with every move of the mouse: selection, marks, the chosen
// slice with its links, the cursor and the box beside it. Paints; decides nothing.
#pragma once

#include "app/desktop/pages/timeline/canvas/timeline_pointer.h"
#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/pages/timeline/tables/mark_list.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What one has picked.
struct TimelinePicks {
    std::optional<TimeRange> range;     ///< of the shared selection
    std::optional<TimelineHit> chosen;  ///< clicked
    std::vector<LinkedSlice> links;     ///< of the chosen one
    std::optional<TimelineHit> hovered;
    /// What another canvas points at: the moment here, and what is the same here.
    std::optional<Timestamp> shadowTime;
    std::optional<TimelineHit> shadow;
    Marks marks;          ///< by time
    QString highlighted;  ///< name of slices that stand out; empty: none
};

/// `frame`: what is shown below; null: nothing yet.
void paintOverlay(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                  const TimelinePicks& picks, const TimelinePointer& pointer, const Theme& theme);

// Frames around the slices of one name: those of a row of the table. Paints; decides nothing.

/// Of merged slices those in which `name` takes most time; an empty name matches none.
void paintHighlight(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame& frame,
                    const QString& name, const Theme& theme);

}  // namespace shardscope::desktop
