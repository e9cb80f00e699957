#include "app/desktop/pages/timeline/timeline_ruler.h"

#include "app/desktop/pages/timeline/ruler_marks.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"

#include <cmath>
#include <vector>

namespace shardscope::desktop {
namespace {

/// Between times and steps.
constexpr double kMiddle = 19;

QFont rulerFont() {
    return textFont(kSmallPixels - 1);
}

Measure measure() {
    return [font = rulerFont()](const QString& text) { return tabularWidth(font, text); };
}

std::vector<RulerTick> ticksOf(const TimelineViewport& viewport) {
    return rulerTicks(viewport.scale(), viewport.rulerTime(), viewport.origin(), viewport.steps(),
                      measure());
}

void paintSteps(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    for (const RulerStep& step : rulerSteps(viewport.scale(), viewport.steps(), measure())) {
        const double x = std::round(lanes.left() + step.x) + 0.5;
        painter.setPen(theme.quietText);
        const double top = step.text.isEmpty() ? kRulerHeight - 8 : kMiddle + 2;
        if (step.begins) painter.drawLine(QPointF(x, top), QPointF(x, kRulerHeight - 3));
        if (step.text.isEmpty()) continue;
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(lanes.left() + step.textX, kMiddle + 1, 160, 16), Qt::AlignLeft,
                    step.text);
    }
}

}  // namespace

void paintGrid(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    painter.setPen(theme.hairline);
    const QRectF lanes = viewport.lanesArea();
    for (const RulerTick& tick : ticksOf(viewport)) {
        const double x = std::round(lanes.left() + tick.x) + 0.5;
        painter.drawLine(QPointF(x, 4), QPointF(x, kMiddle - 2));
        painter.drawLine(QPointF(x, kRulerHeight), QPointF(x, lanes.bottom()));
    }
}

void paintRuler(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    painter.save();
    painter.setClipRect(QRectF(lanes.left(), 0, lanes.width(), kRulerHeight));
    painter.setFont(rulerFont());
    painter.setPen(theme.quietText);
    for (const RulerTick& tick : ticksOf(viewport))
        drawTabular(painter, QRectF(lanes.left() + tick.x + 4, 2, 160, 16), Qt::AlignLeft,
                    tick.text);
    paintSteps(painter, viewport, theme);
    painter.restore();
}

}  // namespace shardscope::desktop
