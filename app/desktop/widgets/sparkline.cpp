#include "app/desktop/widgets/sparkline.h"

#include "app/desktop/models/chart_data.h"

#include <QPolygonF>
#include <algorithm>

namespace shardscope::desktop {

void paintSparkline(QPainter& painter, const QRectF& area, const QVector<QPointF>& points,
                    const QColor& colour) {
    if (points.size() < 2 || area.width() < 8) return;
    // of more points than pixels the highest and lowest of each few
    if (const int most = std::max(8, static_cast<int>(area.width())); points.size() > 2 * most)
        return paintSparkline(painter, area, decimated(points, most), colour);
    const auto [low, high] =
        std::minmax_element(points.begin(), points.end(),
                            [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
    const double bottom = low->y();
    const double span = high->y() - bottom;
    const double first = points.front().x();
    const double length = std::max(points.back().x() - first, 1e-12);
    QPolygonF line;
    for (const QPointF& point : points) {
        const double share = span > 0 ? (point.y() - bottom) / span : 0.5;
        line << QPointF(area.left() + (point.x() - first) / length * area.width(),
                        area.bottom() - share * area.height());
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawEllipse(line.back(), 2.2, 2.2);
    painter.restore();
}

}  // namespace shardscope::desktop
