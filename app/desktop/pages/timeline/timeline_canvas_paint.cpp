// How the canvas looks; timeline_canvas.cpp is how it behaves.
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kTickRoom = 104;
constexpr double kStepLabelRoom = 64;

std::vector<Timestamp> rulerTicks(const TimeScale& scale) {
    // nanoseconds as doubles lose the last digits after days: count from the view's begin
    const double span = static_cast<double>(scale.range.duration().ns);
    const auto step = std::max<std::int64_t>(
        1, std::llround(niceStep(span, std::max(2, static_cast<int>(scale.width / kTickRoom)))));
    std::vector<Timestamp> ticks;
    for (std::int64_t at = (scale.range.begin.ns + step - 1) / step * step;
         at <= scale.range.end.ns; at += step) {
        ticks.push_back({at});
    }
    return ticks;
}

Duration tickResolution(const std::vector<Timestamp>& ticks) {
    return ticks.size() > 1 ? ticks[1] - ticks[0] : Duration{1'000'000};
}

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

}  // namespace

QPixmap TimelineCanvas::renderPicture() const {
    const double ratio = devicePixelRatioF();
    QPixmap picture((QSizeF(viewport()->size()) * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    const Theme& theme = Theme::of(this);
    picture.fill(theme.window);
    QPainter painter(&picture);
    const QRectF lanes = lanesArea();
    painter.setPen(theme.hairline);
    for (Timestamp tick : rulerTicks(m_scale)) {
        const double x = std::round(lanes.left() + m_scale.x(tick)) + 0.5;
        painter.drawLine(QPointF(x, kRulerHeight - 18), QPointF(x, lanes.bottom()));
    }
    painter.setClipRect(QRectF(0, lanes.top(), viewport()->width(), lanes.height()));
    LanePainter lanePainter(theme);
    for (const LaneRow& row : m_layout.rows) {
        const QRectF area = rowArea(row);
        if (area.bottom() < lanes.top() || area.top() > lanes.bottom()) continue;
        if (row.isLane()) paintLeftOut(painter, row);
        const LaneFrame* frame = m_frame && row.isLane() ? m_frame->lane(row.key) : nullptr;
        if (frame == nullptr) continue;
        if (row.kind == LaneRow::Kind::kCounter) {
            lanePainter.paintCounter(painter, area, row, *frame, m_scale);
        } else {
            lanePainter.paintSlices(painter, area, row, *frame, m_scale);
        }
    }
    paintLabels(painter);
    painter.setClipping(false);
    paintRuler(painter);
    return picture;
}

void TimelineCanvas::paintRuler(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF lanes = lanesArea();
    const auto ticks = rulerTicks(m_scale);
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    for (Timestamp tick : ticks) {
        const double x = lanes.left() + m_scale.x(tick) + 4;
        const QString text = formatInstant(tick, tickResolution(ticks));
        if (x + tabularWidth(painter.font(), text) > lanes.right()) continue;
        drawTabular(painter, QRectF(x, 2, 120, 16), Qt::AlignLeft, text);
    }
    if (!m_recording || m_recording->summary.steps.empty()) return;
    const RankId first = m_recording->summary.steps.front().rank;
    const int stride = stepStride();
    double free = lanes.left();
    for (const StepFacts& step : m_recording->summary.steps) {
        if (step.rank != first || !step.range().intersects(view())) continue;
        const double begin = lanes.left() + std::max(0.0, m_scale.x(step.start));
        const double end = lanes.left() + std::min(m_scale.width, m_scale.x(step.end));
        if (m_scale.x(step.start) >= 0) {
            painter.setPen(theme.quietText);
            painter.drawLine(QPointF(std::round(begin) + 0.5, kRulerHeight - 18),
                             QPointF(std::round(begin) + 0.5, kRulerHeight - 4));
        }
        const QString full = tr("step %1").arg(step.step.value);
        const double wide = tabularWidth(painter.font(), full);
        const bool fits = stride > 1 ? step.step.value % stride == 0 : begin + wide + 8 <= end;
        if (begin < free || !fits || begin + wide + 8 > lanes.right()) continue;
        painter.setPen(theme.quietText);
        drawTabular(painter, QRectF(begin + 4, kRulerHeight - 20, wide + 8, 16), Qt::AlignLeft,
                    full);
        free = begin + wide + 16;
    }
}

int TimelineCanvas::stepStride() const {
    const auto& steps = m_recording->summary.steps;
    const double all =
        static_cast<double>(steps.size()) /
        static_cast<double>(std::max<std::size_t>(1, m_recording->summary.ranks.size()));
    const TimeScale whole{m_recording->bounds(), m_scale.width};
    const double pitch =
        whole.width * whole.nsPerPixel() / m_scale.nsPerPixel() / std::max(1.0, all);
    return static_cast<int>(std::max(1.0, niceStep(kStepLabelRoom / std::max(pitch, 0.01), 1)));
}

void TimelineCanvas::paintHeader(QPainter& painter, const LaneRow& row) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = rowArea(row);
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

void TimelineCanvas::paintLaneName(QPainter& painter, const LaneRow& row) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = rowArea(row);
    const double left = 16 + row.indent;
    const double wide = m_labelWidth - left - 8;
    const bool counter = row.kind == LaneRow::Kind::kCounter;
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    const double high = counter || row.depths > 1 ? 16 : area.height();
    painter.drawText(QRectF(left, area.top() - (counter ? 2 : 0), wide, high), Qt::AlignVCenter,
                     QFontMetricsF(painter.font()).elidedText(row.name, Qt::ElideMiddle, wide));
    const LaneFrame* frame = counter && m_frame ? m_frame->lane(row.key) : nullptr;
    if (frame == nullptr || frame->points.empty()) return;
    painter.setFont(textFont(kSmallPixels - 2));
    drawTabular(painter, QRectF(left, area.top() + (area.height() > 40 ? 18 : 14), wide, 14),
                Qt::AlignLeft, counterScaleText(row, *frame));
}

void TimelineCanvas::paintLabels(QPainter& painter) const {
    const QRectF lanes = lanesArea();
    for (const LaneRow& row : m_layout.rows) {
        const QRectF area = rowArea(row);
        if (area.bottom() < lanes.top() || area.top() > lanes.bottom()) continue;
        if (row.isLane()) {
            paintLaneName(painter, row);
        } else {
            paintHeader(painter, row);
        }
    }
}

/// Hatches where the file holds nothing of the lane, and says why where there is room.
void TimelineCanvas::paintLeftOut(QPainter& painter, const LaneRow& row) const {
    if (!m_recording) return;
    const Theme& theme = Theme::of(this);
    const QRectF lanes = lanesArea();
    const bool fullOnly = isFullOnly(row.role) || isMemoryLane(row.key.lane);
    double painted = lanes.left();  // overlapping stretches are hatched once
    for (const DetailFacts& detail : m_recording->summary.detail) {
        const bool concerns = detail.level <= CaptureLevel::kSteps || fullOnly;
        if (detail.rank != row.key.rank || !concerns || !detail.range.intersects(view())) continue;
        const double left = std::max(painted, lanes.left() + m_scale.x(detail.range.begin));
        const double right = lanes.left() + std::min(m_scale.width, m_scale.x(detail.range.end));
        if (right - left < 1) continue;
        const QRectF area(left, rowArea(row).top(), right - left, rowArea(row).height());
        desktop::paintLeftOut(painter, area, leftOutWord(detail), theme);
        painted = right;
    }
}

/// From the end of a launch to the begin of what it started.
void TimelineCanvas::paintLinks(QPainter& painter) const {
    const LaneRow* row = m_selected ? m_layout.row(m_selected->key) : nullptr;
    if (row == nullptr) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Theme::of(this).text, 1.2));
    for (const LinkedSlice& link : m_links) {
        const LaneRow* other = m_layout.row(link.key);
        if (other == nullptr) continue;
        const QRectF mine = LanePainter::sliceArea(rowArea(*row), *row, m_selected->slice, m_scale);
        const QRectF theirs = LanePainter::sliceArea(rowArea(*other), *other, link.slice, m_scale);
        const bool down = theirs.top() > mine.top();
        const QPointF from(mine.left() + 1, down ? mine.bottom() : mine.top());
        const QPointF to(theirs.left() + 1, down ? theirs.top() : theirs.bottom());
        QPainterPath path(from);
        const double middle = (from.y() + to.y()) / 2;
        path.cubicTo({from.x(), middle}, {to.x(), middle}, to);
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(path);
        painter.setBrush(Theme::of(this).text);
        painter.drawEllipse(to, 2.2, 2.2);
    }
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineCanvas::paintOverlay(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF lanes = lanesArea();
    QColor tint = theme.accent;
    tint.setAlphaF(0.14F);
    const auto paintRange = [&](double left, double right) {
        const QRectF area = QRectF(QPointF(left, kRulerHeight - 20), QPointF(right, lanes.bottom()))
                                .intersected(lanes.adjusted(0, -20, 0, 0));
        if (area.width() <= 0) return;
        painter.fillRect(area, tint);
        painter.setPen(QPen(theme.accent, 1));
        if (left >= lanes.left()) painter.drawLine(area.topLeft(), area.bottomLeft());
        if (right <= lanes.right()) painter.drawLine(area.topRight(), area.bottomRight());
    };
    if (m_drag && m_drag->moved && !m_drag->pans && m_cursor) {
        const double left = std::min(m_drag->from.x(), m_cursor->x());
        const double right = std::max(m_drag->from.x(), m_cursor->x());
        paintRange(left, right);
        const Duration length{std::llround((right - left) * m_scale.nsPerPixel())};
        painter.setFont(textFont(kSmallPixels, QFont::DemiBold));
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(left, kRulerHeight, right - left, 18), Qt::AlignHCenter,
                    formatDuration(length));
    } else if (m_selectedRange) {
        paintRange(lanes.left() + m_scale.x(m_selectedRange->begin),
                   lanes.left() + m_scale.x(m_selectedRange->end));
    }
    painter.setClipRect(lanes);
    if (m_selected) {
        if (const LaneRow* row = m_layout.row(m_selected->key)) {
            const QRectF box =
                LanePainter::sliceArea(rowArea(*row), *row, m_selected->slice, m_scale);
            painter.setPen(QPen(theme.text, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(box.adjusted(-1, -1, 0, 1));
        }
        paintLinks(painter);
    }
    for (std::size_t i = 0; i < m_marks.size(); ++i) {
        const double x = std::round(lanes.left() + m_scale.x(m_marks[i])) + 0.5;
        painter.setPen(QPen(theme.bad, 1, Qt::DashLine));
        painter.drawLine(QPointF(x, lanes.top()), QPointF(x, lanes.bottom()));
        if (i == 0) continue;
        painter.setFont(textFont(kSmallPixels));
        painter.setPen(theme.bad);
        drawTabular(painter, QRectF(x - 104, lanes.bottom() - 20, 100, 16), Qt::AlignRight,
                    formatDuration(m_marks[i] - m_marks[i - 1]));
    }
    painter.setClipping(false);
}

void TimelineCanvas::paintHover(QPainter& painter) const {
    if (!m_hovered || !m_cursor || m_drag) return;
    const Theme& theme = Theme::of(this);
    const auto lines = sliceHover(m_hovered->role, m_hovered->slice);
    double wide = 0;
    for (const auto& [name, value] : lines) {
        wide = std::max(wide, tabularWidth(textFont(kSmallPixels, QFont::DemiBold), name) +
                                  tabularWidth(textFont(kSmallPixels), value) + 40);
    }
    wide = std::min(wide, 420.0);
    const double high = static_cast<double>(lines.size()) * 18 + 12;
    const QRectF room = QRectF(viewport()->rect());
    double left = m_cursor->x() + 14;
    if (left + wide > room.right() - 4) left = m_cursor->x() - wide - 10;
    double top = m_cursor->y() + 18;
    if (top + high > room.bottom() - 4) top = m_cursor->y() - high - 8;
    const QRectF box(std::round(left), std::round(top), wide, high);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, kCornerRadius, kCornerRadius);
    double y = box.top() + 6;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        painter.setFont(textFont(kSmallPixels, i == 0 ? QFont::DemiBold : QFont::Normal));
        painter.setPen(i == 0 ? theme.text : theme.quietText);
        const double valueWidth = tabularWidth(painter.font(), lines[i].second);
        drawTabular(painter, QRectF(box.left() + 10, y, wide, 18), Qt::AlignLeft,
                    QFontMetricsF(painter.font())
                        .elidedText(lines[i].first, Qt::ElideMiddle, wide - valueWidth - 32));
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(box.left() + 10, y, wide - 20, 18), Qt::AlignRight,
                    lines[i].second);
        y += 18;
    }
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
    if (m_picture.isNull()) m_picture = renderPicture();
    QPainter painter(viewport());
    painter.drawPixmap(0, 0, m_picture);
    paintOverlay(painter);
    if (hasFocus()) {
        painter.fillRect(QRectF(0, kRulerHeight, 2, viewport()->height() - kRulerHeight),
                         Theme::of(this).accent);
    }
    if (m_cursor && lanesArea().contains(*m_cursor) && !m_drag) {
        painter.setPen(QPen(Theme::of(this).quietText, 1, Qt::DotLine));
        const double x = std::round(m_cursor->x()) + 0.5;
        painter.drawLine(QPointF(x, kRulerHeight), QPointF(x, viewport()->height()));
    }
    paintHover(painter);
}

}  // namespace shardscope::desktop
