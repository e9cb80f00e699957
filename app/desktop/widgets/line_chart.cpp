#include "app/desktop/widgets/line_chart.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/painting.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <ranges>

namespace shardscope::desktop {
namespace {

/// Compute's blue has too little contrast for a thin line on a dark window.
QColor lineColour(const Theme& theme, Meaning meaning) {
    if (theme.dark && meaning == Meaning::kCompute) return theme.accent;
    return theme.fill(meaning).colour;
}

using namespace Qt::StringLiterals;

const QPointF* nearest(const QVector<QPointF>& points, double x) {
    const QPointF* best = nullptr;
    for (const QPointF& point : points) {
        if (best == nullptr || std::abs(point.x() - x) < std::abs(best->x() - x)) best = &point;
    }
    return best;
}

}  // namespace

LineChart::LineChart(QWidget* parent)
    : QWidget(parent), m_text([](double value) { return formatNumber(value); }) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void LineChart::setTitles(const QString& title, const QString& unit, const QString& bottomTitle) {
    m_title = title;
    m_unit = unit;
    m_bottomTitle = bottomTitle;
    setAccessibleName(tr("%1 in %2 over %3").arg(title, unit, bottomTitle));
    update();
}

void LineChart::setSeries(std::vector<LineSeries> series) {
    m_series = std::move(series);
    update();
}

void LineChart::setRange(double low, double high) {
    m_range = AxisRange{low, high};
    update();
}

void LineChart::setTickText(TickText text) {
    m_text = std::move(text);
    update();
}

void LineChart::setStartsAtZero(bool zero) {
    m_startsAtZero = zero;
    update();
}

void LineChart::setHighlight(std::optional<AxisRange> range) {
    m_highlight = range;
    update();
}

void LineChart::showCursor(double x) {
    m_cursor = x;
    update();
}

void LineChart::hideCursor() {
    m_cursor.reset();
    update();
}

QRectF LineChart::plot() const {
    return QRectF(rect()).adjusted(64, 32, -12, -40);
}

AxisRange LineChart::horizontal() const {
    if (m_range) return *m_range;
    AxisRange range{0, 1};
    bool first = true;
    for (const LineSeries& series : m_series) {
        for (const QPointF& point : series.points) {
            range.low = first ? point.x() : std::min(range.low, point.x());
            range.high = first ? point.x() : std::max(range.high, point.x());
            first = false;
        }
    }
    if (range.high <= range.low) range.high = range.low + 1;
    return range;
}

AxisRange LineChart::vertical() const {
    AxisRange range{0, 1};
    bool first = true;
    for (const LineSeries& series : m_series) {
        for (const QPointF& point : series.points) {
            if (!std::isfinite(point.y())) continue;
            range.low = first ? point.y() : std::min(range.low, point.y());
            range.high = first ? point.y() : std::max(range.high, point.y());
            first = false;
        }
    }
    if (m_startsAtZero) range.low = std::min(range.low, 0.0);
    const double span =
        range.high > range.low ? range.high - range.low : std::max(std::abs(range.high), 1e-9);
    if (!m_startsAtZero) range.low -= span * 0.06;
    range.high += span * 0.08;
    return range;
}

void LineChart::paintTitle(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    painter.setFont(textFont(kTextPixels, QFont::DemiBold));
    painter.setPen(theme.text);
    const double wide = QFontMetricsF(painter.font()).horizontalAdvance(m_title);
    painter.drawText(QRectF(0, 0, width(), 18), Qt::AlignLeft | Qt::AlignVCenter, m_title);
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    QString behind = m_unit;
    double x = wide + 8;
    painter.drawText(QRectF(x, 0, width() - x, 18), Qt::AlignLeft | Qt::AlignVCenter, behind);
    if (m_series.size() < 2) return;
    double right = width() - 12;
    for (const auto& series : std::views::reverse(m_series)) {
        if (series.points.isEmpty()) continue;
        const double nameWidth = QFontMetricsF(painter.font()).horizontalAdvance(series.name);
        painter.setPen(theme.quietText);
        painter.drawText(QRectF(right - nameWidth, 0, nameWidth + 1, 18), Qt::AlignVCenter,
                         series.name);
        painter.setPen(QPen(lineColour(theme, series.meaning), 2));
        painter.drawLine(QPointF(right - nameWidth - 20, 9.5), QPointF(right - nameWidth - 6, 9.5));
        right -= nameWidth + 36;
    }
}

void LineChart::paintSeries(QPainter& painter, const AxisRange& h, const AxisRange& v) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    painter.save();
    painter.setClipRect(area.adjusted(-3, -4, 4, 4));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const LineSeries& series : m_series) {
        QPolygonF line;
        for (const QPointF& point : series.points) {
            if (!std::isfinite(point.y())) continue;
            line << QPointF(area.left() + h.position(point.x(), area.width()),
                            area.bottom() - v.position(point.y(), area.height()));
        }
        painter.setPen(QPen(lineColour(theme, series.meaning), 1.6, Qt::SolidLine, Qt::RoundCap,
                            Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolyline(line);
        if (!series.dots && line.size() > 1) continue;
        painter.setBrush(theme.window);
        for (const QPointF& point : line) painter.drawEllipse(point, 3, 3);
    }
    painter.restore();
}

void LineChart::paintCursor(QPainter& painter, const AxisRange& h, const AxisRange& v) const {
    if (!m_cursor) return;
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    QStringList values;
    std::optional<double> at;
    for (const LineSeries& series : m_series) {
        const QPointF* point = nearest(series.points, *m_cursor);
        if (point == nullptr || (series.dots && std::abs(point->x() - *m_cursor) > 0.5)) continue;
        if (!at) at = point->x();
        values << (m_series.size() > 1 ? u"%1 %2"_s.arg(series.name, m_text(point->y()))
                                       : m_text(point->y()));
    }
    if (!at) return;
    const double x = std::round(area.left() + h.position(*at, area.width())) + 0.5;
    painter.setPen(QPen(theme.accent, 1));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    Q_UNUSED(v)
    painter.setFont(textFont(kSmallPixels));
    const QString text =
        u"%1 %2: %3"_s.arg(m_bottomTitle, formatTick(*at, 1), values.join(u", "_s));
    const double wide = tabularWidth(painter.font(), text) + 16;
    const double left = x + wide + 8 > area.right() ? x - wide - 6 : x + 6;
    const QRectF box(left, area.top() + 2, wide, 22);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, kCornerRadius, kCornerRadius);
    painter.setPen(theme.text);
    drawTabular(painter, box, Qt::AlignHCenter, text);
}

void LineChart::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    paintTitle(painter);
    const QRectF area = plot();
    const bool empty = std::all_of(m_series.begin(), m_series.end(), [](const LineSeries& series) {
        return series.points.isEmpty();
    });
    if (empty) {
        painter.setPen(theme.quietText);
        painter.setFont(textFont(kSmallPixels));
        painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, tr("No value reported yet"));
        return;
    }
    const AxisRange h = horizontal();
    const AxisRange v = vertical();
    if (m_highlight) {
        QColor tint = theme.accent;
        tint.setAlphaF(0.12F);
        const double left = area.left() + h.position(m_highlight->low, area.width());
        const double right = area.left() + h.position(m_highlight->high, area.width());
        painter.fillRect(QRectF(left, area.top(), right - left, area.height()).intersected(area),
                         tint);
    }
    const auto levels = niceTicks(v.low, v.high, std::max(2, static_cast<int>(area.height() / 36)));
    paintLeftAxis(
        painter, area, v, levels,
        [step = tickStep(levels)](double value) { return formatTick(value, step); }, {}, theme);
    auto ticks = niceTicks(h.low, h.high, std::max(2, static_cast<int>(area.width() / 72)));
    std::erase_if(ticks, [](double tick) { return tick != std::round(tick); });
    paintBottomAxis(
        painter, area, h, ticks, [](double value) { return formatTick(value, 1); }, m_bottomTitle,
        QRectF(rect()), theme);
    paintSeries(painter, h, v);
    paintCursor(painter, h, v);
}

void LineChart::mouseMoveEvent(QMouseEvent* event) {
    const QRectF area = plot();
    if (!area.contains(event->position())) {
        Q_EMIT cursorLeft();
        return;
    }
    Q_EMIT cursorMoved(horizontal().value(event->position().x() - area.left(), area.width()));
}

void LineChart::mousePressEvent(QMouseEvent* event) {
    const QRectF area = plot();
    if (area.contains(event->position())) {
        Q_EMIT activated(horizontal().value(event->position().x() - area.left(), area.width()));
    }
}

void LineChart::leaveEvent(QEvent*) {
    Q_EMIT cursorLeft();
}

}  // namespace shardscope::desktop
