#include "app/desktop/widgets/painting.h"

#include "app/desktop/models/chart_data.h"

#include <QFontMetricsF>
#include <QHash>
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::desktop {
namespace {

/// Shaping a figure costs as much as drawing it, and axes ask for thousands.
struct FigureWidths {
    std::array<double, 10> each{};
    double widest = 0;
};

const FigureWidths& figureWidths(const QFont& font) {
    static QHash<QFont, FigureWidths> known;
    const auto found = known.constFind(font);
    if (found != known.constEnd()) return *found;
    const QFontMetricsF metrics(font);
    FigureWidths widths;
    for (std::size_t i = 0; i < widths.each.size(); ++i) {
        widths.each[i] = metrics.horizontalAdvance(QChar(static_cast<char16_t>(u'0' + i)));
        widths.widest = std::max(widths.widest, widths.each[i]);
    }
    return *known.insert(font, widths);
}

bool hasDigit(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.isDigit(); });
}

/// Calls place(run, x) for runs of figures' neighbours and for each figure; returns the width.
template <class Place>
double layOut(const QFont& font, const QString& text, Place place) {
    const QFontMetricsF metrics(font);
    const FigureWidths& figures = figureWidths(font);
    double x = 0;
    qsizetype i = 0;
    while (i < text.size()) {
        if (text[i].isDigit()) {
            const QString figure(text[i]);
            const int digit = text[i].digitValue();
            // other scripts' figures are as wide as they are
            const double wide = text[i].unicode() < 128
                                    ? figures.each[static_cast<std::size_t>(digit)]
                                    : metrics.horizontalAdvance(figure);
            place(figure, x + (figures.widest - wide) / 2);
            x += figures.widest;
            ++i;
            continue;
        }
        qsizetype end = i;
        while (end < text.size() && !text[end].isDigit()) ++end;
        const QString run = text.mid(i, end - i);
        place(run, x);
        x += metrics.horizontalAdvance(run);
        i = end;
    }
    return x;
}

}  // namespace

double tabularWidth(const QFont& font, const QString& text) {
    if (!hasDigit(text)) return QFontMetricsF(font).horizontalAdvance(text);
    return layOut(font, text, [](const QString&, double) {});
}

void drawTabular(QPainter& painter, const QRectF& area, Qt::Alignment alignment,
                 const QString& text) {
    const QFontMetricsF metrics(painter.font());
    const double width = tabularWidth(painter.font(), text);
    double left = area.left();
    if (alignment.testFlag(Qt::AlignRight)) left = area.right() - width;
    if (alignment.testFlag(Qt::AlignHCenter)) left = area.center().x() - width / 2;
    double baseline = area.center().y() + (metrics.ascent() - metrics.descent()) / 2;
    if (alignment.testFlag(Qt::AlignTop)) baseline = area.top() + metrics.ascent();
    if (alignment.testFlag(Qt::AlignBottom)) baseline = area.bottom() - metrics.descent();
    layOut(painter.font(), text, [&](const QString& run, double x) {
        painter.drawText(QPointF(left + x, baseline), run);
    });
}

void paintFill(QPainter& painter, const QRectF& area, const Fill& fill, const Theme& theme) {
    if (!fill.colour.isValid() || area.width() <= 0) return;
    if (!fill.hatched) {
        painter.fillRect(area, fill.colour);
    } else {
        QColor ground = fill.colour;
        ground.setAlphaF(theme.dark ? 0.16F : 0.14F);
        painter.fillRect(area, ground);
        painter.save();
        painter.setClipRect(area, Qt::IntersectClip);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(fill.line(), 1.6));
        // lines sit on a fixed grid, so that neighbouring hatches join
        const double height = area.height();
        const double first = std::floor((area.left() - height) / 6) * 6;
        for (double x = first; x < area.right(); x += 6) {
            // SVG knows no clipping
            const double before = std::max(area.left() - x, 0.0);
            const double beyond = std::max(x + height - area.right(), 0.0);
            if (before + beyond < height)
                painter.drawLine(QPointF(x + before, area.bottom() - before),
                                 QPointF(x + height - beyond, area.top() + beyond));
        }
        painter.restore();
    }
    if (fill.edge.isValid() && !fill.hatched && std::min(area.width(), area.height()) >= 4) {
        painter.save();
        painter.setPen(QPen(fill.edge, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5));
        painter.restore();
    }
}

void paintSwatch(QPainter& painter, const QRectF& area, const Fill& fill, const Theme& theme) {
    if (fill.hatched) {
        paintFill(painter, area, fill, theme);
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(fill.edge.isValid() ? QPen(fill.edge, 1) : QPen(Qt::NoPen));
    painter.setBrush(fill.colour);
    const double inset = painter.pen().style() == Qt::NoPen ? 0 : 0.5;
    painter.drawRoundedRect(area.adjusted(inset, inset, -inset, -inset), 2, 2);
    painter.restore();
}

void paintLeftOut(QPainter& painter, const QRectF& area, const QString& word, const Theme& theme) {
    painter.fillRect(area, QBrush(theme.hairline, Qt::BDiagPattern));
    painter.setFont(textFont(kSmallPixels - 1));
    const double wide = tabularWidth(painter.font(), word) + 12;
    if (area.width() < wide + 8 || area.height() < 14) return;
    const QRectF label(area.left() + 4, area.top() + (area.height() - 14) / 2, wide, 14);
    painter.fillRect(label, theme.window);
    painter.setPen(theme.quietText);
    painter.drawText(label, Qt::AlignCenter, word);
}

void paintFocus(QPainter& painter, const QRectF& area, const Theme& theme) {
    painter.setPen(QPen(theme.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(area);
}

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
