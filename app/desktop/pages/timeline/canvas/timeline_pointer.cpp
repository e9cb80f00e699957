#include "app/desktop/pages/timeline/canvas/timeline_pointer.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/canvas/timeline_ruler.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/tracks/counter_lane.h"

#include <QObject>
#include <QStringList>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

/// A hand that clicks trembles.
constexpr double kClickSlack = 4;

using namespace Qt::StringLiterals;

QString sliceLine(const TimelineHit& hit) {
    QStringList words{QObject::tr("rank %1").arg(hit.key.rank.value)};
    for (const auto& [name, value] : sliceHover(hit.role, hit.slice)) words << name + u' ' + value;
    return words.join(u" · "_s);
}

/// "rank 0 · power 312 W" of the counter lane at a position.
QString counterLine(const TimelineViewport& viewport, const TimelineFrame& frame, QPointF at) {
    const LaneRow* row = viewport.rowAt(at.y());
    if (row == nullptr || row->kind != LaneRow::Kind::kCounter) return {};
    const LaneFrame* lane = frame.lane(row->key);
    if (lane == nullptr) return {};
    const Timestamp time = viewport.timeAt(at.x());
    const ShownCounter counter = shownCounter(*row, *lane, viewport.view());
    const auto point =
        std::find_if(counter.points.rbegin(), counter.points.rend(),
                     [time](const auto& candidate) { return candidate.range.begin <= time; });
    if (point == counter.points.rend()) return {};
    return QObject::tr("rank %1 · %2 %3")
        .arg(QString::number(row->key.rank.value), row->name,
             formatCounter(point->range.contains(time) ? point->maximum : point->last,
                           counter.unit));
}

/// "0.8131 s · step 20 + 1.2 ms · +0.4 ms": absolute, in its step, from the mark or the left edge.
QString momentLine(const TimelineViewport& viewport, Timestamp time) {
    const Duration resolution = viewport.scale().resolution();
    QStringList words{formatInstant(time, resolution)};
    if (const QString step = stepTime(viewport.steps(), time, resolution); !step.isEmpty())
        words << step;
    words << formatOffset(time - viewport.origin(), resolution);
    return words.join(u" · "_s);
}

}  // namespace

void TimelinePointer::press(QPointF at, TimeRange view, bool pans) {
    m_at = at;
    m_held = Held{at, view, pans, false};
}

void TimelinePointer::move(QPointF at) {
    m_at = at;
    if (m_held) m_held->moved = m_held->moved || std::abs(moved()) > kClickSlack;
}

TimelinePointer::Drag TimelinePointer::drag() const {
    if (!m_held || !m_held->moved) return Drag::kNone;
    return m_held->pans ? Drag::kPans : Drag::kSelects;
}

double TimelinePointer::moved() const {
    return m_held && m_at ? m_at->x() - m_held->from.x() : 0;
}

TimelinePointer::Stretch TimelinePointer::stretch() const {
    if (!m_held || !m_at) return {};
    return {std::min(m_held->from.x(), m_at->x()), std::max(m_held->from.x(), m_at->x())};
}

QString hoverLine(const TimelineViewport& viewport, const TimelineFrame* frame,
                  const std::optional<TimelineHit>& hovered, QPointF at) {
    if (hovered) return sliceLine(*hovered);
    if (!viewport.lanesArea().contains(at)) return {};
    const QString moment = momentLine(viewport, viewport.timeAt(at.x()));
    const QString counter = frame != nullptr ? counterLine(viewport, *frame, at) : QString();
    return counter.isEmpty() ? moment : counter + u" · "_s + moment;
}

}  // namespace shardscope::desktop
