#include "app/desktop/pages/timeline/timeline_highlight.h"

#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/row_slices.h"

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
        if (!row.isLane() || !viewport.rowArea(row).intersects(area)) continue;
        double drawnTo = area.left() - 1;
        int drawnLevel = -1;
        forSlicesOf(row, frame, [&](const LaneFrame&, const SliceView& slice, int level) {
            if (slice.name != name) return;
            const QRectF box =
                LanePainter::sliceArea(viewport.rowArea(row), row, slice, level, viewport.scale());
            // of many in one pixel one frame is enough
            if (level == drawnLevel && box.right() <= drawnTo) return;
            painter.drawRect(box.adjusted(0, 0, -1, -1));
            drawnLevel = level;
            drawnTo = box.right();
        });
    }
    painter.restore();
}

}  // namespace shardscope::desktop
