#include "app/desktop/widgets/axis.h"

#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

double tickStep(const std::vector<double>& ticks) {
    return ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
}

void paintLeftAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                   const std::vector<double>& ticks, const TickText& text, const QString& title,
                   const Theme& theme) {
    painter.save();
    painter.setFont(textFont(kSmallPixels - 1));
    for (double tick : ticks) {
        const double y = std::round(plot.bottom() - range.position(tick, plot.height())) - 0.5;
        if (y < plot.top() - 1 || y > plot.bottom() + 1) continue;
        painter.setPen(theme.hairline);
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        painter.setPen(theme.quietText);
        drawTabular(painter, QRectF(0, y - 8, plot.left() - 6, 16), Qt::AlignRight, text(tick));
    }
    painter.setPen(theme.quietText);
    if (!title.isEmpty()) {
        drawTabular(painter, QRectF(0, plot.top() - 22, plot.right(), 14), Qt::AlignLeft, title);
    }
    painter.restore();
}

void paintBottomAxis(QPainter& painter, const QRectF& plot, const AxisRange& range,
                     const std::vector<double>& ticks, const TickText& text, const QString& title,
                     const QRectF& limits, const Theme& theme) {
    painter.save();
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    double free = limits.left();
    for (double tick : ticks) {
        const double x = std::round(plot.left() + range.position(tick, plot.width())) + 0.5;
        if (x < plot.left() - 1 || x > plot.right() + 1.5) continue;
        painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 4));
        const QString label = text(tick);
        const double wide = tabularWidth(painter.font(), label);
        const double left =
            std::clamp(x - wide / 2, limits.left(), std::max(limits.left(), limits.right() - wide));
        if (left < free) continue;
        drawTabular(painter, QRectF(left, plot.bottom() + 5, wide, 14), Qt::AlignLeft, label);
        free = left + wide + 8;
    }
    if (!title.isEmpty()) {
        drawTabular(painter, QRectF(plot.left(), plot.bottom() + 20, plot.width(), 14),
                    Qt::AlignRight, title);
    }
    painter.restore();
}

}  // namespace shardscope::desktop
