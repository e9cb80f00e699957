// Frames around the slices of one name: those of a row of the table. Paints; decides nothing.
#pragma once

#include "app/desktop/pages/timeline/timeline_viewport.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QString>

namespace shardscope::desktop {

/// Of merged slices those in which `name` takes most time; an empty one is nobody's.
void paintHighlight(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame& frame,
                    const QString& name, const Theme& theme);

}  // namespace shardscope::desktop
