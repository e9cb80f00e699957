// The lanes of the timeline with their names and headers, as a picture that stands until the view,
// the theme or what was loaded changes.
#pragma once

#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>

namespace shardscope::desktop {

/// `frame`: what the loader sent last, drawn to scale until the next comes; null: nothing yet.
void paintTimeline(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                   const Theme& theme);

}  // namespace shardscope::desktop
