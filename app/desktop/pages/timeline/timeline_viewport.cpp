#include "app/desktop/pages/timeline/timeline_viewport.h"

#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/theme.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

TimelineViewport::TimelineViewport() : m_labelWidth(kLabelWidth) {}

void TimelineViewport::setRecording(const RecordingPtr& recording) {
    m_recording = recording;
    m_options = {};
    layOut();
    if (recording) setView(recording->bounds());
}

void TimelineViewport::setSize(QSizeF size) {
    m_size = size;
    m_scale.width = std::max(1.0, lanesArea().width());
}

void TimelineViewport::setView(TimeRange view) {
    if (m_recording) m_scale.range = keptWithin(view, m_recording->bounds());
}

bool TimelineViewport::setRanks(const std::vector<RankId>& ranks) {
    if (m_options.ranks == ranks) return false;
    m_options.ranks = ranks;
    layOut();
    return true;
}

void TimelineViewport::toggle(const LaneRow& header) {
    if (header.kind == LaneRow::Kind::kHeader) {
        if (!m_options.collapsed.insert(header.key.rank).second)
            m_options.collapsed.erase(header.key.rank);
    } else {
        const std::pair group{header.key.rank, header.group};
        if (!m_options.toggled.insert(group).second) m_options.toggled.erase(group);
    }
    layOut();
}

void TimelineViewport::reveal(LaneAddress key) {
    if (!m_recording) return;
    m_options = revealing(m_recording->summary, m_options, key);
    layOut();
}

void TimelineViewport::layOut() {
    m_layout = m_recording ? layOutLanes(m_recording->summary, m_options) : LaneLayout{};
    fitLabels();
    m_scale.width = std::max(1.0, lanesArea().width());
}

/// As wide as the longest name that is shown, so that none is cut.
void TimelineViewport::fitLabels() {
    const QFontMetricsF metrics(textFont(kSmallPixels));
    double widest = kLabelWidth;
    for (const LaneRow& row : m_layout.rows) {
        if (row.isLane())
            widest = std::max(widest, 16 + row.indent + metrics.horizontalAdvance(row.name) + 12);
    }
    m_labelWidth = std::min(kMostLabelWidth, static_cast<int>(std::ceil(widest)));
}

QRectF TimelineViewport::lanesArea() const {
    return QRectF(QPointF(), m_size).adjusted(m_labelWidth, kRulerHeight, 0, 0);
}

QRectF TimelineViewport::rowArea(const LaneRow& row) const {
    const QRectF lanes = lanesArea();
    return {lanes.left(), lanes.top() + row.y - m_top, lanes.width(),
            static_cast<double>(row.height)};
}

bool TimelineViewport::shows(const LaneRow& row) const {
    const QRectF area = rowArea(row), lanes = lanesArea();
    return area.bottom() >= lanes.top() && area.top() <= lanes.bottom();
}

Timestamp TimelineViewport::timeAt(double x) const {
    return m_scale.time(x - lanesArea().left());
}

const LaneRow* TimelineViewport::rowAt(double y) const {
    return m_layout.rowAt(static_cast<int>(y - lanesArea().top()) + m_top);
}

std::optional<TimelineHit> TimelineViewport::hitAt(const TimelineFrame& frame, QPointF at) const {
    const LaneRow* row = lanesArea().contains(at) ? rowAt(at.y()) : nullptr;
    if (row == nullptr || row->kind != LaneRow::Kind::kSpans) return std::nullopt;
    const LaneFrame* lane = frame.lane(row->key);
    if (lane == nullptr) return std::nullopt;
    std::optional<TimelineHit> best;
    for (const SliceView& slice : lane->slices) {
        if (slice.depth >= row->depths || !slice.range.intersects(m_scale.range)) continue;
        if (LanePainter::sliceArea(rowArea(*row), *row, slice, m_scale).contains(at))
            best = TimelineHit{row->key, row->role, slice};
    }
    return best;
}

std::optional<TimelineQuery> TimelineViewport::query() const {
    if (!m_recording || m_scale.range.empty()) return std::nullopt;
    // a little more than is in sight, so that small moves show something at once
    const Duration margin{m_scale.range.duration().ns / 4};
    TimelineQuery query;
    query.range = TimeRange{m_scale.range.begin - margin, m_scale.range.end + margin}.intersection(
        m_recording->bounds());
    query.resolution = m_scale.resolution();
    query.lanes = m_layout.loadedLanes();
    return query;
}

}  // namespace shardscope::desktop
