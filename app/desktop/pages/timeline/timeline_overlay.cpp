#include "app/desktop/pages/timeline/timeline_overlay.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
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
    QColor tint = theme.accent;
    tint.setAlphaF(0.14F);
    painter.fillRect(area, tint);
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

/// Where a slice of a lane that is shown lies.
QRectF boxOf(const TimelineViewport& viewport, const LaneRow& row, const SliceView& slice) {
    return LanePainter::sliceArea(viewport.rowArea(row), row, slice, viewport.scale());
}

/// From the begin of one to the begin of the other, at the sides that face each other.
void paintLink(QPainter& painter, const QRectF& mine, const QRectF& theirs, const QColor& colour) {
    const bool down = theirs.top() > mine.top();
    const QPointF from(mine.left() + 1, down ? mine.bottom() : mine.top());
    const QPointF to(theirs.left() + 1, down ? theirs.top() : theirs.bottom());
    const double middle = (from.y() + to.y()) / 2;
    QPainterPath path(from);
    path.cubicTo({from.x(), middle}, {to.x(), middle}, to);
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    painter.setBrush(colour);
    painter.drawEllipse(to, 2.2, 2.2);
}

void paintChosen(QPainter& painter, const TimelineViewport& viewport, const TimelinePicks& picks,
                 const Theme& theme) {
    const LaneRow* row = picks.chosen ? viewport.lanes().row(picks.chosen->key) : nullptr;
    if (row == nullptr) return;
    const QRectF box = boxOf(viewport, *row, picks.chosen->slice);
    painter.setPen(QPen(theme.text, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(-1, -1, 0, 1));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.text, 1.2));
    for (const LinkedSlice& link : picks.links)
        if (const LaneRow* other = viewport.lanes().row(link.key))
            paintLink(painter, box, boxOf(viewport, *other, link.slice), theme.text);
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
        drawTabular(painter, QRectF(x + 4, lanes.top(), 280, 16), Qt::AlignLeft, text);
        if (i == 0) continue;
        drawTabular(painter, QRectF(x - 104, lanes.bottom() - 20, 100, 16), Qt::AlignRight,
                    formatDuration(marks[i].time - marks[i - 1].time));
    }
}

/// Beside the pointer, on the side where there is room.
QRectF hoverBox(const Lines& lines, QPointF pointer, QSizeF room) {
    double wide = 0;
    for (const auto& [name, value] : lines) {
        wide = std::max(wide, tabularWidth(textFont(kSmallPixels, QFont::DemiBold), name) +
                                  tabularWidth(textFont(kSmallPixels), value) + 40);
    }
    wide = std::min(wide, kWidestBox);
    const double high = static_cast<double>(lines.size()) * kLineHeight + 12;
    double left = pointer.x() + 14;
    if (left + wide > room.width() - 4) left = pointer.x() - wide - 10;
    double top = pointer.y() + 18;
    if (top + high > room.height() - 4) top = pointer.y() - high - 8;
    return {std::round(left), std::round(top), wide, high};
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

void paintHover(QPainter& painter, const TimelineHit& hovered, QPointF at, QSizeF room,
                const Theme& theme) {
    const Lines lines = sliceHover(hovered.role, hovered.slice);
    const QRectF box = hoverBox(lines, at, room);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, kCornerRadius, kCornerRadius);
    paintHoverLines(painter, box, lines, theme);
}

}  // namespace

void paintOverlay(QPainter& painter, const TimelineViewport& viewport, const TimelinePicks& picks,
                  const TimelinePointer& pointer, const Theme& theme) {
    paintSelection(painter, viewport, picks.range, pointer, theme);
    painter.setClipRect(viewport.lanesArea());
    paintChosen(painter, viewport, picks, theme);
    paintMarks(painter, viewport, picks.marks, theme);
    painter.setClipping(false);
    if (!pointer.at() || pointer.isHeld()) return;
    paintCursor(painter, viewport, *pointer.at(), theme);
    if (picks.hovered) paintHover(painter, *picks.hovered, *pointer.at(), viewport.size(), theme);
}

}  // namespace shardscope::desktop
