#include "app/desktop/pages/timeline/timeline_highlight.h"

#include "app/desktop/pages/timeline/lane_painter.h"

namespace shardscope::desktop {

void paintHighlight(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame& frame,
                    const QString& name, const Theme& theme) {
    if (name.isEmpty()) return;
    const QRectF area = viewport.lanesArea();
    painter.save();
    painter.setClipRect(area);
    painter.setPen(QPen(theme.text, 1));
    painter.setBrush(Qt::NoBrush);
    for (const LaneRow& row : viewport.lanes().rows) {
        const LaneFrame* lane = row.isLane() ? frame.lane(row.key) : nullptr;
        if (lane == nullptr || !viewport.rowArea(row).intersects(area)) continue;
        double drawnTo = area.left() - 1;
        int drawnDepth = -1;
        for (const SliceView& slice : lane->slices) {
            if (slice.name != name) continue;
            const QRectF box =
                LanePainter::sliceArea(viewport.rowArea(row), row, slice, viewport.scale());
            // of many in one pixel one frame is enough
            if (slice.depth == drawnDepth && box.right() <= drawnTo) continue;
            painter.drawRect(box.adjusted(0, 0, -1, -1));
            drawnDepth = slice.depth;
            drawnTo = box.right();
        }
    }
    painter.restore();
}

}  // namespace shardscope::desktop
