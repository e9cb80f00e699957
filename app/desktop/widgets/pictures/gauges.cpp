#include "app/desktop/widgets/pictures/gauges.h"

#include "app/desktop/widgets/chart_plot.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardscope::desktop {
namespace {

constexpr int kColumns = 2;
constexpr double kThick = 8;
constexpr double kLine = 16;  ///< of text
constexpr double kHalfTurn = 180;

/// The upper half of a circle, from its left end to `share` of it.
void paintArc(QPainter& painter, const QRectF& box, double share, const QColor& colour) {
    QPen pen(colour, kThick);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    QPainterPath path;
    path.arcMoveTo(box, kHalfTurn);
    path.arcTo(box, kHalfTurn, -kHalfTurn * std::clamp(share, 0.0, 1.0));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
}

void paintTarget(QPainter& painter, const QRectF& box, double share, const QColor& colour) {
    const double angle = std::numbers::pi * (1 - std::clamp(share, 0.0, 1.0));
    const QPointF out(std::cos(angle), -std::sin(angle));
    const double radius = box.width() / 2;
    painter.setPen(QPen(colour, 1.6));
    painter.drawLine(box.center() + out * (radius - kThick),
                     box.center() + out * (radius + kThick));
}

}  // namespace

Gauges::Gauges(QWidget* parent) : Picture(parent, Qt::Horizontal, Cursor::kOfKeys) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void Gauges::setGauges(std::vector<Gauge> gauges) {
    m_gauges = std::move(gauges);
    QStringList words;
    for (const Gauge& each : m_gauges)
        words << QStringLiteral("%1: %2 %3").arg(each.name, each.value, each.verdict).trimmed();
    describe({}, words.join(QStringLiteral("; ")));
}

QRectF Gauges::placeOf(int gauge) const {
    const int rows = (count() + kColumns - 1) / kColumns;
    const double wide = width() / static_cast<double>(kColumns);
    const double high = height() / static_cast<double>(std::max(rows, 1));
    return {wide * (gauge % kColumns), high * (gauge / kColumns), wide, high};
}

QString Gauges::textOf(int gauge) const {
    const Gauge& shown = m_gauges[static_cast<std::size_t>(gauge)];
    const QString head =
        QStringLiteral("%1: %2 %3").arg(shown.name, shown.value, shown.verdict).trimmed();
    return shown.definition.isEmpty() ? head : head + QStringLiteral(" · ") + shown.definition;
}

void Gauges::paintGauge(QPainter& painter, const Gauge& gauge, const QRectF& area) const {
    const Theme& theme = Theme::of(this);
    const double texts = 2 * kLine + kGapSmall;
    const double radius = std::max(
        std::min(area.height() - texts - kThick - kGapSmall, area.width() / 2 - 2 * kThick), 12.0);
    const QPointF centre(area.center().x(), area.top() + kThick + radius);
    const QRectF box(centre - QPointF(radius, radius), centre + QPointF(radius, radius));
    paintArc(painter, box, 1, theme.neutral);
    if (gauge.share) paintArc(painter, box, *gauge.share, lineColour(theme, Meaning::kCompute));
    if (gauge.target) paintTarget(painter, box, *gauge.target, theme.text);
    painter.setPen(theme.text);
    painter.setFont(textFont(gauge.share ? kHeadlinePixels : kSmallPixels, QFont::DemiBold));
    const QRectF value(area.left(), centre.y() - 24, area.width(), 24);
    drawTabular(painter, value, Qt::AlignCenter, gauge.value);
    painter.setFont(textFont(kSmallPixels));
    const QRectF name(area.left(), centre.y() + kGapSmall, area.width(), kLine);
    painter.drawText(
        name, Qt::AlignCenter,
        QFontMetricsF(painter.font()).elidedText(gauge.name, Qt::ElideRight, name.width()));
    if (gauge.verdict.isEmpty()) return;
    painter.setPen(!gauge.share ? theme.quietText : gauge.good ? theme.good : theme.bad);
    painter.setFont(textFont(kSmallPixels, gauge.share ? QFont::DemiBold : QFont::Normal));
    painter.drawText(name.translated(0, kLine), Qt::AlignCenter, gauge.verdict);
}

void Gauges::paint(QPainter& painter) {
    painter.setRenderHint(QPainter::Antialiasing);
    for (int gauge = 0; gauge < count(); ++gauge)
        paintGauge(painter, m_gauges[static_cast<std::size_t>(gauge)], placeOf(gauge));
}

}  // namespace shardscope::desktop
