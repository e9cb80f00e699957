// Painting that several widgets share: figures of equal width, hatching, fills. GUI thread.
#pragma once

#include "app/desktop/widgets/theme.h"

#include <QColor>
#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QVector>

namespace shardscope::desktop {

/// Width of `text` when every figure takes the room of the widest.
[[nodiscard]] double tabularWidth(const QFont& font, const QString& text);

/// Draws one line with figures of equal width (Qt 6.4 cannot ask a font for its tabular ones).
void drawTabular(QPainter& painter, const QRectF& area, Qt::Alignment alignment,
                 const QString& text);

/// Opacity of what costs nothing beside what does.
inline constexpr double kPale = 0.35;

/// A rectangle of one meaning: solid, hatched or outlined.
void paintFill(QPainter& painter, const QRectF& area, const Fill& fill, const Theme& theme);

/// A stretch of time in which nothing is known, hatched, with `word` on it where there is room.
void paintLeftOut(QPainter& painter, const QRectF& area, const QString& word, const Theme& theme);

/// The outline of what has the focus.
void paintFocus(QPainter& painter, const QRectF& area, const Theme& theme);

/// The 12-px square before a legend entry or a table cell.
void paintSwatch(QPainter& painter, const QRectF& area, const Fill& fill, const Theme& theme);

// Painting of a small trend line without axes. Pure paint, no state.

void paintSparkline(QPainter& painter, const QRectF& area, const QVector<QPointF>& points,
                    const QColor& colour);

}  // namespace shardscope::desktop
