// What the status line says of the place under the pointer. Pure.
#pragma once

#include "app/desktop/pages/timeline/timeline_viewport.h"

#include <QString>

namespace shardscope::desktop {

/// Of a slice what the box says of it, of a counter its value, else the moment; empty outside the
/// lanes. `frame` may be null.
[[nodiscard]] QString hoverLine(const TimelineViewport& viewport, const TimelineFrame* frame,
                                const std::optional<TimelineHit>& hovered, QPointF at);

}  // namespace shardscope::desktop
