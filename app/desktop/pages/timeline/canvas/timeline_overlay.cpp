#include "app/desktop/pages/timeline/canvas/timeline_overlay.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/pages/timeline/tracks/row_slices.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <QObject>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Lines = std::vector<std::pair<QString, QString>>;

constexpr double kLineHeight = 18;
constexpr double kWidestBox = 420;

/// From the ruler's steps down; its edges only where they are in sight.
void paintRange(QPainter& painter, const QRectF& lanes, double left, double right,
                const Theme& theme) {
    const QRectF area = QRectF(QPointF(left, kRulerHeight - 20), QPointF(right, lanes.bottom()))
                            .intersected(lanes.adjusted(0, -20, 0, 0));
    if (area.width() <= 0) return;
    // one that fills the view would only change all colours
    const bool fills = left <= lanes.left() + 1 && right >= lanes.right() - 1;
    QColor tint = theme.accent;
    tint.setAlphaF(0.14F);
    painter.fillRect(fills ? QRectF(area.left(), area.top(), area.width(), 20) : area, tint);
    painter.setPen(QPen(theme.accent, 1));
    if (left >= lanes.left()) painter.drawLine(area.topLeft(), area.bottomLeft());
    if (right <= lanes.right()) painter.drawLine(area.topRight(), area.bottomRight());
}

/// The stretch that is being drawn, with its length; else the shared selection.
void paintSelection(QPainter& painter, const TimelineViewport& viewport,
                    const std::optional<TimeRange>& selected, const TimelinePointer& pointer,
                    const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    if (pointer.drag() != TimelinePointer::Drag::kSelects) {
        if (selected)
            paintRange(painter, lanes, viewport.xOf(selected->begin), viewport.xOf(selected->end),
                       theme);
        return;
    }
    const auto [left, right] = pointer.stretch();
    paintRange(painter, lanes, left, right, theme);
    const Duration length{std::llround((right - left) * viewport.scale().nsPerPixel())};
    painter.setFont(textFont(kSmallPixels, QFont::DemiBold));
    painter.setPen(theme.text);
    drawTabular(painter, QRectF(left, kRulerHeight, right - left, kLineHeight), Qt::AlignHCenter,
                formatDuration(length));
}

/// A triangle whose point is at `tip`.
void paintTip(QPainter& painter, QPointF tip, QPointF direction, const QColor& colour) {
    const QPointF across(-direction.y(), direction.x());
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawPolygon(
        QPolygonF({tip, tip - direction * 7 + across * 3.5, tip - direction * 7 - across * 3.5}));
    painter.setBrush(Qt::NoBrush);
}

/// From what came first to what came of it, at the sides that face each other.
void paintArrow(QPainter& painter, const QRectF& first, const QRectF& second,
                const QColor& colour) {
    const bool down = second.top() >= first.top();
    const QPointF from(first.left() + 1, down ? first.bottom() : first.top());
    const QPointF to(second.left() + 1, down ? second.top() : second.bottom());
    const double middle = (from.y() + to.y()) / 2;
    QPainterPath path(from);
    path.cubicTo({from.x(), middle}, {to.x(), middle}, to);
    painter.setPen(QPen(colour, 1.2));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    paintTip(painter, to, {0, down ? 1.0 : -1.0}, colour);
}

/// At the edge behind which the other end of an arrow lies, with its name.
void paintBeyond(QPainter& painter, const QRectF& lanes, QPointF at, QPointF direction,
                 const QString& name, const Theme& theme) {
    paintTip(painter, at, direction, theme.text);
    painter.setFont(textFont(kSmallPixels - 1));
    const QFontMetricsF metrics(painter.font());
    const QString text = metrics.elidedText(name, Qt::ElideRight, 220);
    const double wide = metrics.horizontalAdvance(text) + 8;
    double left = at.x() - wide / 2;
    if (direction.x() > 0) left = at.x() - 10 - wide;
    if (direction.x() < 0) left = at.x() + 10;
    left = std::clamp(left, lanes.left(), std::max(lanes.left(), lanes.right() - wide));
    const double top =
        std::clamp(at.y() - 8 - direction.y() * 16, lanes.top(), lanes.bottom() - 16);
    painter.fillRect(QRectF(left, top, wide, 16), theme.panel);
    painter.setPen(theme.text);
    painter.drawText(QRectF(left + 4, top, wide, 16), Qt::AlignVCenter, text);
}

/// How the other end of a link is called where it cannot be seen.
QString nameBeyond(const TimelineHit& chosen, const LinkedSlice& link) {
    const QString name = shortName(link.slice.name);
    if (link.key.rank == chosen.key.rank) return name;
    return QObject::tr("rank %1 · %2").arg(QString::number(link.key.rank.value), name);
}

/// An arrow in the direction of time; where its other end is out of sight, a mark at the edge.
void paintLink(QPainter& painter, const TimelineViewport& viewport, const TimelineHit& chosen,
               const QRectF& mine, const LinkedSlice& link, const std::optional<QRectF>& theirs,
               const Theme& theme) {
    const QRectF lanes = viewport.scrollArea();
    const bool forward = link.slice.range.begin >= chosen.slice.range.begin;
    if (!theirs) {
        const QPointF below(std::clamp(mine.left() + 1, lanes.left(), lanes.right()),
                            mine.bottom() + 12);
        return paintBeyond(painter, lanes, below, {0, 1},
                           QObject::tr("%1 (hidden)").arg(nameBeyond(chosen, link)), theme);
    }
    if (forward)
        paintArrow(painter, mine, *theirs, theme.text);
    else
        paintArrow(painter, *theirs, mine, theme.text);
    if (theirs->intersects(lanes)) return;
    const double x = std::clamp(theirs->left() + 1, lanes.left() + 2, lanes.right() - 2);
    const double y = std::clamp(theirs->center().y(), lanes.top() + 2, lanes.bottom() - 2);
    const bool aside = theirs->right() < lanes.left() || theirs->left() > lanes.right();
    const QPointF direction = aside ? QPointF(theirs->left() > lanes.right() ? 1 : -1, 0)
                                    : QPointF(0, theirs->top() > lanes.bottom() - 2 ? 1 : -1);
    paintBeyond(painter, lanes, {x, y}, direction, nameBeyond(chosen, link), theme);
}

void paintChosen(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                 const TimelinePicks& picks, const Theme& theme) {
    if (!picks.chosen) return;
    const auto box = viewport.boxOf(picks.chosen->key, picks.chosen->slice, frame);
    if (!box) return;
    painter.setPen(QPen(theme.text, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box->adjusted(-1, -1, 0, 1));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const LinkedSlice& link : picks.links)
        paintLink(painter, viewport, *picks.chosen, *box, link,
                  viewport.boxOf(link.key, link.slice, frame), theme);
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

/// Each with its name and time at the top, and the time since the one before at the bottom.
void paintMarks(QPainter& painter, const TimelineViewport& viewport, const Marks& marks,
                const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    const Duration pixel{std::max<std::int64_t>(1, viewport.scale().resolution().ns)};
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const double x = std::round(viewport.xOf(marks[i].time)) + 0.5;
        painter.setPen(QPen(theme.bad, 1, Qt::DashLine));
        painter.drawLine(QPointF(x, lanes.top()), QPointF(x, lanes.bottom()));
        painter.setFont(textFont(kSmallPixels));
        painter.setPen(theme.bad);
        const QString text = marks[i].name + u" · "_s + formatInstant(marks[i].time, pixel);
        const QRectF flag(x + 2, lanes.top() + 1, tabularWidth(painter.font(), text) + 8, 15);
        painter.fillRect(flag, theme.panel);
        drawTabular(painter, flag.adjusted(4, 0, 0, 0), Qt::AlignLeft, text);
        if (i == 0) continue;
        drawTabular(painter, QRectF(x - 104, lanes.bottom() - 20, 100, 16), Qt::AlignRight,
                    formatDuration(marks[i].time - marks[i - 1].time));
    }
}

/// Below what it describes where there is room, else above it; never over it.
QRectF hoverBox(const Lines& lines, QPointF pointer, const QRectF& slice, QSizeF room) {
    double wide = 0;
    for (const auto& [name, value] : lines) {
        wide = std::max(wide, tabularWidth(textFont(kSmallPixels, QFont::DemiBold), name) +
                                  tabularWidth(textFont(kSmallPixels), value) + 40);
    }
    wide = std::min(wide, kWidestBox);
    const double high = static_cast<double>(lines.size()) * kLineHeight + 12;
    double left = pointer.x() + 14;
    if (left + wide > room.width() - 4) left = std::max(4.0, pointer.x() - wide - 10);
    double top = std::max(pointer.y() + 18, slice.bottom() + 6);
    if (top + high > room.height() - 4) top = std::min(pointer.y() - 8, slice.top() - 6) - high;
    return {std::round(left), std::round(std::max(top, 2.0)), wide, high};
}

/// Names at the left, values at the right, the title first.
void paintHoverLines(QPainter& painter, const QRectF& box, const Lines& lines, const Theme& theme) {
    double y = box.top() + 6;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto& [name, value] = lines[i];
        painter.setFont(textFont(kSmallPixels, i == 0 ? QFont::DemiBold : QFont::Normal));
        painter.setPen(i == 0 ? theme.text : theme.quietText);
        const double room = box.width() - tabularWidth(painter.font(), value) - 32;
        drawTabular(painter, QRectF(box.left() + 10, y, box.width(), kLineHeight), Qt::AlignLeft,
                    QFontMetricsF(painter.font()).elidedText(name, Qt::ElideMiddle, room));
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(box.left() + 10, y, box.width() - 20, kLineHeight),
                    Qt::AlignRight, value);
        y += kLineHeight;
    }
}

void paintCursor(QPainter& painter, const TimelineViewport& viewport, QPointF at,
                 const Theme& theme) {
    if (!viewport.lanesArea().contains(at)) return;
    painter.setPen(QPen(theme.quietText, 1, Qt::DotLine));
    const double x = std::round(at.x()) + 0.5;
    painter.drawLine(QPointF(x, kRulerHeight), QPointF(x, viewport.size().height()));
}

/// `slice`: where it lies.
void paintHover(QPainter& painter, QSizeF room, const TimelineHit& hovered, const QRectF& slice,
                QPointF at, const Theme& theme) {
    const Lines lines = sliceHover(hovered.role, hovered.slice);
    const QRectF box = hoverBox(lines, at, slice, room);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, kCornerRadius, kCornerRadius);
    paintHoverLines(painter, box, lines, theme);
}

void paintShadow(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                 const TimelinePicks& picks, const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    if (picks.shadowTime)
        paintCursor(painter, viewport, {viewport.xOf(*picks.shadowTime), lanes.top() + 1}, theme);
    if (!picks.shadow) return;
    const auto box = viewport.boxOf(picks.shadow->key, picks.shadow->slice, frame);
    if (!box || !box->intersects(lanes)) return;
    painter.setPen(QPen(theme.text, 2));
    painter.setBrush(Qt::NoBrush);
    painter.save();
    painter.setClipRect(lanes);
    painter.drawRect(box->adjusted(-1, -1, 0, 1));
    painter.restore();
    const QRectF seen = box->intersected(lanes);
    paintHover(painter, viewport.size(), *picks.shadow, *box, seen.center(), theme);
}

}  // namespace

void paintOverlay(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                  const TimelinePicks& picks, const TimelinePointer& pointer, const Theme& theme) {
    paintSelection(painter, viewport, picks.range, pointer, theme);
    painter.setClipRect(viewport.lanesArea());
    paintChosen(painter, viewport, frame, picks, theme);
    paintMarks(painter, viewport, picks.marks, theme);
    painter.setClipping(false);
    paintShadow(painter, viewport, frame, picks, theme);
    if (!pointer.at() || pointer.isHeld()) return;
    const QPointF at = *pointer.at();
    paintCursor(painter, viewport, at, theme);
    if (!picks.hovered) return;
    const auto slice = viewport.boxOf(picks.hovered->key, picks.hovered->slice, frame);
    paintHover(painter, viewport.size(), *picks.hovered, slice.value_or(QRectF(at, QSizeF(1, 1))),
               at, theme);
}

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
