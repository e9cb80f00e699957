#include "app/desktop/pages/timeline/lane_painter.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr double kNarrowestLabel = 12;
/// Half the width of a mark, where its lane is high enough.
constexpr double kMark = 4;

}  // namespace

std::vector<double> counterColumns(const LaneFrame& frame, const TimeScale& scale, int width) {
    std::vector<double> columns(static_cast<std::size_t>(std::max(1, width)));
    const double last = static_cast<double>(columns.size());
    for (const CounterView& point : frame.points) {
        if (!point.range.intersects(scale.range)) continue;
        const auto from =
            static_cast<std::size_t>(std::clamp(scale.x(point.range.begin), 0.0, last - 1));
        const auto to = static_cast<std::size_t>(std::clamp(scale.x(point.range.end), 0.0, last));
        for (std::size_t x = from; x < std::max(to, from + 1); ++x) {
            columns[x] = std::max(columns[x], point.maximum);
        }
    }
    return columns;
}

CounterScale counterScale(const LaneRow& row, const LaneFrame& frame) {
    CounterScale scale;
    if (frame.points.empty()) return scale;
    double lowest = frame.points.front().minimum;
    for (const CounterView& point : frame.points) {
        scale.highest = std::max(scale.highest, point.maximum);
        lowest = std::min(lowest, point.minimum);
    }
    if (row.unit == QLatin1String("J")) scale.bottom = lowest;
    if (row.unit == QLatin1String("1")) {
        scale.top = std::max(1.0, scale.highest);  // a share of a whole
        return scale;
    }
    const double high = std::max(scale.highest, row.theoryBytes) - scale.bottom;
    scale.top = scale.bottom + (high > 0 ? high * 1.08 : 1);
    return scale;
}

QRectF LanePainter::sliceArea(const QRectF& area, const LaneRow& row, const SliceView& slice,
                              const TimeScale& scale) {
    const double left = std::max(scale.x(slice.range.begin), -4.0);
    const double right = std::min(scale.x(slice.range.end), area.width() + 4.0);
    const double level = area.height() / row.depths;
    const int depth = std::min<int>(slice.depth, row.depths - 1);
    const double gap = row.depths > 1 ? 1 : 0;
    double x = std::floor(area.left() + left);
    double end = std::max(std::floor(area.left() + right), x + 1);
    // a mark is hit around its moment
    if (slice.instant) x -= kMark, end += kMark;
    return {x, area.top() + depth * level, end - x, level - gap};
}

QColor LanePainter::colourOf(const LaneRow& row, const SliceView& slice) {
    const Meaning meaning = sliceMeaning(row.role, slice);
    const QColor base = m_theme.fill(meaning).colour;
    const bool kernel = slice.onDevice && row.role == LaneRole::kCompute;
    if (row.role != LaneRole::kHost && !kernel) return base;
    const auto [found, isNew] = m_shades.try_emplace(slice.name.toStdString());
    if (isNew) found->second = shadeFor(base, slice.name);
    return found->second;
}

void LanePainter::paintLabel(QPainter& painter, const QRectF& box, const LaneRow& row,
                             const SliceView& slice, const QColor& ground) {
    if (box.width() < kNarrowestLabel || box.height() < 12) return;
    const double room = box.width() - 8;
    painter.setPen(Theme::textOn(ground));
    const QFontMetricsF metrics(painter.font());
    const auto labels = sliceLabels(row.role, slice);
    for (const QString& label : labels) {
        if (metrics.horizontalAdvance(label) > room) continue;
        painter.drawText(box.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, label);
        return;
    }
    if ((row.role != LaneRole::kHost && !slice.onDevice) || room < 40 || labels.empty()) return;
    painter.drawText(box.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(labels.front(), Qt::ElideMiddle, room));
}

void LanePainter::paintSlice(QPainter& painter, const QRectF& box, const LaneRow& row,
                             const SliceView& slice, const TimeScale& scale, const QRectF& area) {
    Fill fill = m_theme.fill(sliceMeaning(row.role, slice));
    fill.colour = colourOf(row, slice);
    fill.outlined = false;
    // neighbours are told apart by a gap, as long as there is room for one
    const QRectF body = box.width() > 4 ? box.adjusted(0, 0, -1, 0) : box;
    double covered = 1;
    if (slice.count > 1 && slice.range.duration().ns > 0) {
        covered = std::clamp(
            static_cast<double>(slice.busy.ns) / static_cast<double>(slice.range.duration().ns),
            0.25, 1.0);
    }
    painter.setOpacity(covered);
    const double waitedTo = area.left() + scale.x(slice.waitedUntil);
    if (slice.waitedUntil > slice.range.begin && waitedTo - body.left() >= 2) {
        Fill waiting = fill;
        waiting.hatched = true;
        const double split = std::min(std::floor(waitedTo), body.right());
        paintFill(painter, QRectF(QPointF(body.left(), body.top()), QPointF(split, body.bottom())),
                  waiting, m_theme);
        const QRectF moving(QPointF(split, body.top()), body.bottomRight());
        paintFill(painter, moving, fill, m_theme);
        paintLabel(painter, moving.intersected(area), row, slice, fill.colour);
    } else {
        paintFill(painter, body, fill, m_theme);
        if (!fill.hatched) paintLabel(painter, body.intersected(area), row, slice, fill.colour);
    }
    painter.setOpacity(1);
    ++m_painted;
}

/// A diamond at the moment; at the first and the last where several share the place, with a line
/// between.
void LanePainter::paintMark(QPainter& painter, const QRectF& box, const LaneRow& row,
                            const SliceView& slice) {
    const QColor colour = colourOf(row, slice);
    const double half = std::min(kMark, box.height() / 2);
    const double middle = box.center().y();
    const double first = box.left() + kMark + 0.5, last = box.right() - kMark - 0.5;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    if (last > first) painter.drawRect(QRectF(first, middle - 1, last - first, 2));
    for (const double x : {first, last}) {
        painter.drawPolygon(QPolygonF(
            {{x, middle - half}, {x + half, middle}, {x, middle + half}, {x - half, middle}}));
        if (last <= first) break;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
    ++m_painted;
}

void LanePainter::paintSlices(QPainter& painter, const QRectF& area, const LaneRow& row,
                              const LaneFrame& frame, const TimeScale& scale) {
    painter.save();
    painter.setClipRect(area);
    // Inter draws 192x192 as a product; names of kernels are code
    painter.setFont(row.onDevice ? codeFont(10) : textFont(row.role == LaneRole::kHost ? 10 : 11));
    std::array<double, 256> drawnTo{};
    drawnTo.fill(-1e9);
    for (const SliceView& slice : frame.slices) {
        if (!slice.range.intersects(scale.range) || slice.depth >= row.depths) continue;
        const QRectF box = sliceArea(area, row, slice, scale);
        if (box.right() <= drawnTo[slice.depth]) continue;
        drawnTo[slice.depth] = box.right();
        if (slice.instant) {
            paintMark(painter, box, row, slice);
            continue;
        }
        paintSlice(painter, box, row, slice, scale, area);
    }
    painter.restore();
}

void LanePainter::paintCounter(QPainter& painter, const QRectF& area, const LaneRow& row,
                               const LaneFrame& frame, const TimeScale& scale) {
    painter.save();
    painter.setClipRect(area.adjusted(0, -1, 0, 1));
    const CounterScale values = counterScale(row, frame);
    const auto share = [&](double value) {
        return std::clamp((value - values.bottom) / (values.top - values.bottom), 0.0, 1.0);
    };
    const bool memory = row.key.lane == kMemoryTotalLane;
    QColor colour = m_theme.fill(memory ? Meaning::kActivation : Meaning::kHost).colour;
    QColor pale = colour;
    pale.setAlphaF(memory ? 0.55F : 0.40F);
    const std::vector<double> columns =
        counterColumns(frame, scale, static_cast<int>(area.width()));
    for (std::size_t first = 0; first < columns.size();) {
        std::size_t end = first + 1;
        while (end < columns.size() && columns[end] == columns[first]) ++end;
        const double high = area.height() * share(columns[first]);
        const double left = area.left() + static_cast<double>(first);
        const double wide = static_cast<double>(end - first);
        painter.fillRect(QRectF(left, area.bottom() - high, wide, high), pale);
        if (columns[first] > 0)
            painter.fillRect(QRectF(left, area.bottom() - high, wide, 1.5), colour);
        ++m_painted;
        first = end;
    }
    if (row.theoryBytes > 0) {
        const double y = std::round(area.bottom() - area.height() * share(row.theoryBytes)) + 0.5;
        painter.setPen(QPen(m_theme.text, 1, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }
    painter.restore();
}

}  // namespace shardscope::desktop
