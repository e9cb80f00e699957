#include "app/desktop/pages/timeline/timeline_lanes.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/timeline_ruler.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <QObject>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// What the height of a counter's strip stands for.
QString counterScaleText(const LaneRow& row, const LaneFrame& frame) {
    const CounterScale scale = counterScale(row, frame);
    if (row.theoryBytes > 0)
        return QObject::tr("theory %1").arg(formatCounter(row.theoryBytes, row.unit));
    if (scale.bottom > 0) return u"+ "_s + formatCounter(scale.highest - scale.bottom, row.unit);
    return QObject::tr("up to %1").arg(formatCounter(scale.highest, row.unit));
}

void paintTriangle(QPainter& painter, QPointF c, bool folded, const QColor& colour) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.drawPolygon(
        folded ? QPolygonF{c + QPointF(-2.5, -4), c + QPointF(3.5, 0), c + QPointF(-2.5, 4)}
               : QPolygonF{c + QPointF(-4, -2.5), c + QPointF(4, -2.5), c + QPointF(0, 3.5)});
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
}

/// Of a rank, or of a group of its lanes.
void paintHeader(QPainter& painter, const QRectF& area, const LaneRow& row, const Theme& theme) {
    const bool isRank = row.kind == LaneRow::Kind::kHeader;
    const double left = isRank ? 16 : 16 + 10;
    paintTriangle(painter, {left - 10, area.center().y()}, row.collapsed, theme.quietText);
    painter.setFont(isRank ? textFont(kTextPixels, QFont::DemiBold)
                           : textFont(kSmallPixels, QFont::DemiBold));
    painter.setPen(isRank ? theme.text : theme.quietText);
    const double wide = QFontMetricsF(painter.font()).horizontalAdvance(row.name);
    painter.drawText(QRectF(left, area.top(), wide + 2, area.height()), Qt::AlignVCenter, row.name);
    if (!isRank) {
        painter.fillRect(QRectF(area.left(), std::round(area.center().y()), area.width(), 1),
                         theme.hairline);
    }
    if (row.note.isEmpty()) return;
    painter.setFont(textFont(kSmallPixels, row.warns ? QFont::DemiBold : QFont::Normal));
    const QRectF note(left + wide + 12, area.top(),
                      QFontMetricsF(painter.font()).horizontalAdvance(row.note) + 6, area.height());
    painter.fillRect(note, theme.window);  // the ruler's lines stop before it
    painter.setPen(row.warns ? theme.warning : theme.quietText);
    painter.drawText(note, Qt::AlignVCenter, row.note);
}

/// `frame`: of the lane; null: not loaded.
void paintLaneName(QPainter& painter, const TimelineViewport& viewport, const LaneRow& row,
                   const LaneFrame* frame, const Theme& theme) {
    const QRectF area = viewport.rowArea(row);
    const double left = 16 + row.indent;
    const double wide = viewport.labelWidth() - left - 8;
    const bool counter = row.kind == LaneRow::Kind::kCounter;
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    const double high = counter || row.depths > 1 ? 16 : area.height();
    painter.drawText(QRectF(left, area.top() - (counter ? 2 : 0), wide, high), Qt::AlignVCenter,
                     QFontMetricsF(painter.font()).elidedText(row.name, Qt::ElideMiddle, wide));
    if (!counter || frame == nullptr || frame->points.empty()) return;
    painter.setFont(textFont(kSmallPixels - 2));
    drawTabular(painter, QRectF(left, area.top() + (area.height() > 40 ? 18 : 14), wide, 14),
                Qt::AlignLeft, counterScaleText(row, *frame));
}

/// Hatches where the file holds nothing of the lane, and says why where there is room.
void paintGaps(QPainter& painter, const TimelineViewport& viewport, const LaneRow& row,
               const Theme& theme) {
    if (!viewport.recording()) return;
    const QRectF lanes = viewport.lanesArea();
    const bool fullOnly = isFullOnly(row.role) || isMemoryLane(row.key.lane);
    double painted = lanes.left();  // overlapping stretches are hatched once
    for (const DetailFacts& detail : viewport.recording()->summary.detail) {
        const bool concerns = detail.level <= CaptureLevel::kSteps || fullOnly;
        if (detail.rank != row.key.rank || !concerns || !detail.range.intersects(viewport.view()))
            continue;
        const double left = std::max(painted, viewport.xOf(detail.range.begin));
        const double right = std::min(lanes.right(), viewport.xOf(detail.range.end));
        if (right - left < 1) continue;
        const QRectF area = viewport.rowArea(row);
        paintLeftOut(painter, QRectF(left, area.top(), right - left, area.height()),
                     leftOutWord(detail), theme);
        painted = right;
    }
}

}  // namespace

void paintTimeline(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                   const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    paintGrid(painter, viewport, theme);
    painter.setClipRect(QRectF(0, lanes.top(), viewport.size().width(), lanes.height()));
    LanePainter lanePainter(theme);
    for (const LaneRow& row : viewport.lanes().rows) {
        if (!viewport.shows(row)) continue;
        if (!row.isLane()) continue;
        paintGaps(painter, viewport, row, theme);
        const LaneFrame* lane = frame != nullptr ? frame->lane(row.key) : nullptr;
        if (lane == nullptr) continue;
        if (row.kind == LaneRow::Kind::kCounter) {
            lanePainter.paintCounter(painter, viewport.rowArea(row), row, *lane, viewport.scale());
        } else {
            lanePainter.paintSlices(painter, viewport.rowArea(row), row, *lane, viewport.scale());
        }
    }
    for (const LaneRow& row : viewport.lanes().rows) {
        if (!viewport.shows(row)) continue;
        const LaneFrame* lane = frame != nullptr && row.isLane() ? frame->lane(row.key) : nullptr;
        if (row.isLane())
            paintLaneName(painter, viewport, row, lane, theme);
        else
            paintHeader(painter, viewport.rowArea(row), row, theme);
    }
    painter.setClipping(false);
    paintRuler(painter, viewport, theme);
}

}  // namespace shardscope::desktop
