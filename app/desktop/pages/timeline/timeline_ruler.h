// The ruler above the lanes: ticks of time with their lines down through the lanes, and the steps.
#pragma once

#include "app/desktop/pages/timeline/timeline_viewport.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>

namespace shardscope::desktop {

/// Lines behind everything else.
void paintGrid(QPainter& painter, const TimelineViewport& viewport, const Theme& theme);
/// Times and the names of steps, in front of the lanes.
void paintRuler(QPainter& painter, const TimelineViewport& viewport, const Theme& theme);

}  // namespace shardscope::desktop
