// Painting of a small trend line without axes. Pure paint, no state.
#pragma once

#include <QColor>
#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QVector>

namespace shardscope::desktop {

void paintSparkline(QPainter& painter, const QRectF& area, const QVector<QPointF>& points,
                    const QColor& colour);

}  // namespace shardscope::desktop
