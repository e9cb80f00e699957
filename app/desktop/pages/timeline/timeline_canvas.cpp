#include "app/desktop/pages/timeline/timeline_canvas.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/theme.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kZoomStep = 0.7;
constexpr double kPanStep = 0.15;
constexpr double kClickSlack = 4;
constexpr int kScrollStep = 48;

}  // namespace

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QAbstractScrollArea(parent), m_labelWidth(kLabelWidth) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    setAccessibleName(tr("Timeline of all ranks"));
    setAccessibleDescription(
        tr("W and S zoom, A and D move, comma and period step from event to event"));
}

void TimelineCanvas::setRecording(const RecordingPtr& recording) {
    m_recording = recording;
    m_frame.reset();
    m_selected.reset();
    m_links.clear();
    m_hovered.reset();
    m_marks.clear();
    m_options = {};
    layOut();
    if (recording) changeView(recording->bounds());
}

void TimelineCanvas::setRanks(const std::vector<RankId>& ranks) {
    if (m_options.ranks == ranks) return;
    m_options.ranks = ranks;
    layOut();
    requestPicture();
}

void TimelineCanvas::setFrame(const TimelineFramePtr& frame) {
    m_frame = frame;
    touchPicture();
}

void TimelineCanvas::setView(TimeRange view) {
    changeView(view);
}

void TimelineCanvas::setSelectedRange(std::optional<TimeRange> range) {
    m_selectedRange = range;
    viewport()->update();
}

void TimelineCanvas::selectSlice(LaneAddress key, const SliceView& slice) {
    const LaneRow* row = m_layout.row(key);
    if (row == nullptr && m_recording) {
        m_options = revealing(m_recording->summary, m_options, key);
        layOut();
        requestPicture();
        row = m_layout.row(key);
    }
    m_links.clear();
    m_selected = Hit{key, row != nullptr ? row->role : LaneRole::kHost, slice};
    const TimeRange& range = slice.range;
    if (!view().contains(range.begin) || !view().contains(range.end)) {
        const Duration half{std::max(view().duration().ns / 2, range.duration().ns)};
        const Timestamp centre{range.begin.ns + range.duration().ns / 2};
        changeView({centre - half, centre + half});
    }
    if (row != nullptr) {
        const int top = verticalScrollBar()->value();
        const int room = static_cast<int>(lanesArea().height());
        if (row->y < top || row->y + row->height > top + room)
            verticalScrollBar()->setValue(row->y - 24);
    }
    setAccessibleDescription(sliceLabels(m_selected->role, slice).empty()
                                 ? slice.name
                                 : sliceLabels(m_selected->role, slice).front());
    viewport()->update();
    Q_EMIT sliceSelected();
}

void TimelineCanvas::setLinks(std::vector<LinkedSlice> links) {
    m_links = std::move(links);
    viewport()->update();
}

void TimelineCanvas::followLink() {
    if (m_links.empty()) return;
    const LinkedSlice to = m_links.front();
    selectSlice(to.key, to.slice);
}

void TimelineCanvas::clearSlice() {
    m_selected.reset();
    m_links.clear();
    viewport()->update();
    Q_EMIT sliceCleared();
}

QRectF TimelineCanvas::lanesArea() const {
    return QRectF(viewport()->rect()).adjusted(m_labelWidth, kRulerHeight, 0, 0);
}

QRectF TimelineCanvas::rowArea(const LaneRow& row) const {
    const QRectF lanes = lanesArea();
    return {lanes.left(), lanes.top() + row.y - verticalScrollBar()->value(), lanes.width(),
            static_cast<double>(row.height)};
}

Timestamp TimelineCanvas::timeAt(double x) const {
    return m_scale.time(x - lanesArea().left());
}

void TimelineCanvas::layOut() {
    m_layout = m_recording ? layOutLanes(m_recording->summary, m_options) : LaneLayout{};
    fitLabels();
    const int room = std::max(1, static_cast<int>(lanesArea().height()));
    verticalScrollBar()->setRange(0, std::max(0, m_layout.height - room));
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setSingleStep(kScrollStep);
    m_scale.width = std::max(1.0, lanesArea().width());
    Q_EMIT plotChanged(m_labelWidth, static_cast<int>(m_scale.width));
    touchPicture();
}

/// As wide as the longest name that is shown, so that none is cut.
void TimelineCanvas::fitLabels() {
    const QFontMetricsF metrics(textFont(kSmallPixels));
    double widest = kLabelWidth;
    for (const LaneRow& row : m_layout.rows) {
        if (row.isLane())
            widest = std::max(widest, 16 + row.indent + metrics.horizontalAdvance(row.name) + 12);
    }
    const int wanted = std::min(kMostLabelWidth, static_cast<int>(std::ceil(widest)));
    m_labelWidth = wanted;
}

void TimelineCanvas::toggle(const LaneRow& row) {
    if (row.kind == LaneRow::Kind::kHeader) {
        if (!m_options.collapsed.insert(row.key.rank).second)
            m_options.collapsed.erase(row.key.rank);
    } else {
        const std::pair group{row.key.rank, row.group};
        if (!m_options.toggled.insert(group).second) m_options.toggled.erase(group);
    }
    layOut();
    requestPicture();
}

void TimelineCanvas::touchPicture() {
    m_picture = QPixmap();
    viewport()->update();
}

void TimelineCanvas::changeView(TimeRange view) {
    if (!m_recording) return;
    m_scale.range = keptWithin(view, m_recording->bounds());
    touchPicture();
    requestPicture();
    Q_EMIT viewChanged(m_scale.range);
}

void TimelineCanvas::requestPicture() {
    if (!m_recording || !isVisible() || m_scale.range.empty()) return;
    const Duration margin{m_scale.range.duration().ns / 4};
    TimelineQuery query;
    query.range = TimeRange{m_scale.range.begin - margin, m_scale.range.end + margin}.intersection(
        m_recording->bounds());
    query.resolution = m_scale.resolution();
    query.lanes = m_layout.loadedLanes();
    Q_EMIT pictureRequested(query);
}

void TimelineCanvas::zoom(double factor, Timestamp anchor) {
    if (m_recording) changeView(zoomed(view(), factor, anchor, m_recording->bounds()));
}

std::optional<TimelineCanvas::Hit> TimelineCanvas::hitAt(QPointF at) const {
    if (!m_frame || !lanesArea().contains(at)) return std::nullopt;
    const LaneRow* row =
        m_layout.rowAt(static_cast<int>(at.y() - lanesArea().top()) + verticalScrollBar()->value());
    if (row == nullptr || row->kind != LaneRow::Kind::kSpans) return std::nullopt;
    const LaneFrame* lane = m_frame->lane(row->key);
    if (lane == nullptr) return std::nullopt;
    std::optional<Hit> best;
    for (const SliceView& slice : lane->slices) {
        if (slice.depth >= row->depths || !slice.range.intersects(m_scale.range)) continue;
        if (LanePainter::sliceArea(rowArea(*row), *row, slice, m_scale).contains(at))
            best = Hit{row->key, row->role, slice};
    }
    return best;
}

void TimelineCanvas::run(TimelineCommand command) {
    if (!m_recording) return;
    const Timestamp anchor = m_cursor && lanesArea().contains(*m_cursor)
                                 ? timeAt(m_cursor->x())
                                 : view().begin + Duration{view().duration().ns / 2};
    switch (command) {
        case TimelineCommand::kNone:
            return;
        case TimelineCommand::kZoomIn:
            return zoom(kZoomStep, anchor);
        case TimelineCommand::kZoomOut:
            return zoom(1 / kZoomStep, anchor);
        case TimelineCommand::kPanLeft:
            return changeView(panned(view(), -kPanStep, m_recording->bounds()));
        case TimelineCommand::kPanRight:
            return changeView(panned(view(), kPanStep, m_recording->bounds()));
        case TimelineCommand::kScrollUp:
            return verticalScrollBar()->setValue(verticalScrollBar()->value() - kScrollStep);
        case TimelineCommand::kScrollDown:
            return verticalScrollBar()->setValue(verticalScrollBar()->value() + kScrollStep);
        case TimelineCommand::kFit:
            return changeView(m_recording->bounds());
        case TimelineCommand::kZoomToSelection:
            if (m_selectedRange) return changeView(*m_selectedRange);
            if (m_selected) return changeView(m_selected->slice.range);
            return;
        case TimelineCommand::kNextSlice:
            Q_EMIT neighbourRequested(true);
            return;
        case TimelineCommand::kPreviousSlice:
            Q_EMIT neighbourRequested(false);
            return;
        case TimelineCommand::kNextRank:
            Q_EMIT sameCollectiveRequested(1);
            return;
        case TimelineCommand::kPreviousRank:
            Q_EMIT sameCollectiveRequested(-1);
            return;
        case TimelineCommand::kFollowBack:
            if (m_selected && m_selected->slice.onDevice) followLink();
            return;
        case TimelineCommand::kFollowForward:
            if (m_selected && !m_selected->slice.onDevice) followLink();
            return;
        case TimelineCommand::kMark:
            m_marks.push_back(anchor);
            std::sort(m_marks.begin(), m_marks.end());
            viewport()->update();
            return;
        case TimelineCommand::kClear:
            if (m_selected) return clearSlice();
            if (m_selectedRange) {
                Q_EMIT selectionCleared();
                return;
            }
            m_marks.clear();
            viewport()->update();
            return;
    }
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
    const TimelineCommand command =
        timelineCommand(event->key(), event->nativeScanCode(), event->modifiers());
    if (command == TimelineCommand::kNone) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    run(command);
    event->accept();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
    const double notches = event->angleDelta().y() / 120.0;
    const double sideways = event->angleDelta().x() / 120.0;
    if (event->modifiers().testFlag(Qt::ControlModifier)) {
        zoom(std::pow(kZoomStep, notches), timeAt(event->position().x()));
    } else if (m_recording && (event->modifiers().testFlag(Qt::ShiftModifier) ||
                               std::abs(sideways) > std::abs(notches))) {
        const double steps = std::abs(sideways) > std::abs(notches) ? sideways : notches;
        changeView(panned(view(), -steps * kPanStep, m_recording->bounds()));
    } else {
        verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                      static_cast<int>(notches * kScrollStep));
    }
    event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    const bool pans =
        event->modifiers().testFlag(Qt::ShiftModifier) || event->button() == Qt::MiddleButton;
    m_drag = Drag{event->position(), view(), pans, false};
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
    m_cursor = event->position();
    if (m_drag && m_recording) {
        const double moved = event->position().x() - m_drag->from.x();
        m_drag->moved = m_drag->moved || std::abs(moved) > kClickSlack;
        if (m_drag->pans) {
            changeView(panned(m_drag->view, -moved / m_scale.width, m_recording->bounds()));
        }
    } else {
        hover(event->position());
    }
    viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_drag) return;
    endDrag(event->position());
    m_drag.reset();
    viewport()->update();
}

void TimelineCanvas::endDrag(QPointF at) {
    if (!m_drag->moved) {
        click(at);
    } else if (!m_drag->pans && m_recording) {
        const Timestamp from = timeAt(std::min(at.x(), m_drag->from.x()));
        const Timestamp to = timeAt(std::max(at.x(), m_drag->from.x()));
        const TimeRange range = TimeRange{from, to}.intersection(view());
        if (!range.empty()) Q_EMIT rangeSelected(range);
    }
}

void TimelineCanvas::click(QPointF at) {
    if (at.x() < m_labelWidth) {
        const LaneRow* row =
            m_layout.rowAt(static_cast<int>(at.y() - kRulerHeight) + verticalScrollBar()->value());
        if (row != nullptr && !row->isLane()) toggle(*row);
        return;
    }
    if (const auto hit = hitAt(at)) {
        selectSlice(hit->key, hit->slice);
    } else {
        clearSlice();
    }
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto hit = hitAt(event->position());
    if (!hit) return;
    const Duration margin{std::max<std::int64_t>(hit->slice.range.duration().ns, 100)};
    changeView({hit->slice.range.begin - margin, hit->slice.range.end + margin});
}

void TimelineCanvas::hover(QPointF at) {
    m_hovered = hitAt(at);
    if (!m_hovered) {
        QString text = lanesArea().contains(at)
                           ? formatInstant(timeAt(at.x()), m_scale.resolution())
                           : QString();
        if (const QString counter = counterText(at); !counter.isEmpty())
            text = counter + u" · "_s + text;
        Q_EMIT hoverChanged(text);
        return;
    }
    QStringList words{tr("rank %1").arg(m_hovered->key.rank.value)};
    for (const auto& [name, value] : sliceHover(m_hovered->role, m_hovered->slice))
        words << name + u' ' + value;
    Q_EMIT hoverChanged(words.join(QStringLiteral(" · ")));
}

/// "rank 0 · power 312 W" of the counter lane at a position.
QString TimelineCanvas::counterText(QPointF at) const {
    if (!m_frame || !lanesArea().contains(at)) return {};
    const LaneRow* row =
        m_layout.rowAt(static_cast<int>(at.y() - lanesArea().top()) + verticalScrollBar()->value());
    if (row == nullptr || row->kind != LaneRow::Kind::kCounter) return {};
    const LaneFrame* frame = m_frame->lane(row->key);
    if (frame == nullptr) return {};
    const Timestamp time = timeAt(at.x());
    for (auto point = frame->points.rbegin(); point != frame->points.rend(); ++point) {
        if (point->range.begin > time) continue;
        return tr("rank %1 · %2 %3")
            .arg(QString::number(row->key.rank.value), row->name,
                 formatCounter(point->range.contains(time) ? point->maximum : point->last,
                               row->unit));
    }
    return {};
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) {
        m_cursor.reset();
        m_hovered.reset();
        viewport()->update();
        Q_EMIT hoverChanged({});
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::resizeEvent(QResizeEvent*) {
    layOut();
    requestPicture();
}

void TimelineCanvas::scrollContentsBy(int, int) {
    touchPicture();
}

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void TimelineCanvas::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

void TimelineCanvas::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) touchPicture();
}

}  // namespace shardscope::desktop
