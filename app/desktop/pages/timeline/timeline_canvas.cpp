#include "app/desktop/pages/timeline/timeline_canvas.h"

#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/pages/timeline/timeline_highlight.h"
#include "app/desktop/pages/timeline/timeline_hover.h"
#include "app/desktop/pages/timeline/timeline_lanes.h"
#include "app/desktop/widgets/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr double kZoomStep = 0.7;
constexpr double kPanStep = 0.15;
constexpr int kScrollStep = 48;
constexpr int kAboveRow = 24;  ///< of the lanes before one that is scrolled to

}  // namespace

TimelineCanvas::TimelineCanvas(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    setAccessibleName(tr("Timeline of all ranks"));
    setAccessibleDescription(
        tr("W and S zoom, A and D move, comma and period step from event to event"));
}

void TimelineCanvas::setRecording(const RecordingPtr& recording) {
    // the old picture of the same run stays until there is a new one
    const std::string run = recording ? recording->summary.run.id : std::string();
    if (run.empty() || run != m_run) m_frame.reset();
    m_run = run;
    m_picks = {};
    m_shown.setRecording(recording);
    lanesChanged();
    if (recording) changeView(recording->bounds());
}

void TimelineCanvas::setRanks(const std::vector<RankId>& ranks) {
    if (!m_shown.setRanks(ranks)) return;
    lanesChanged();
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
    m_picks.range = range;
    viewport()->update();
}

void TimelineCanvas::selectSlice(LaneAddress key, const SliceView& slice) {
    if (lanes().row(key) == nullptr) {
        m_shown.reveal(key);
        lanesChanged();
        requestPicture();
    }
    const LaneRow* row = lanes().row(key);
    m_picks.links.clear();
    m_picks.chosen = TimelineHit{key, row != nullptr ? row->role : LaneRole::kHost, slice};
    const TimeRange& range = slice.range;
    if (!view().contains(range.begin) || !view().contains(range.end)) {
        const Duration half{std::max(view().duration().ns / 2, range.duration().ns)};
        const Timestamp centre{range.begin.ns + range.duration().ns / 2};
        changeView({centre - half, centre + half});
    }
    if (row != nullptr) bringIntoView(*row);
    const auto labels = sliceLabels(m_picks.chosen->role, slice);
    setAccessibleDescription(labels.empty() ? slice.name : labels.front());
    viewport()->update();
    Q_EMIT sliceSelected();
}

void TimelineCanvas::highlight(const QString& name) {
    m_picks.highlighted = name;
    viewport()->update();
}

void TimelineCanvas::bringIntoView(const LaneRow& row) {
    const int room = static_cast<int>(m_shown.lanesArea().height());
    if (row.y < m_shown.top() || row.y + row.height > m_shown.top() + room)
        verticalScrollBar()->setValue(row.y - kAboveRow);
}

void TimelineCanvas::setLinks(std::vector<LinkedSlice> links) {
    m_picks.links = std::move(links);
    viewport()->update();
}

void TimelineCanvas::followLink(int place) {
    if (place < 0 || place >= static_cast<int>(m_picks.links.size())) return;
    const LinkedSlice to = m_picks.links[static_cast<std::size_t>(place)];
    selectSlice(to.key, to.slice);
}

void TimelineCanvas::followInTime(bool forward) {
    if (!m_picks.chosen) return;
    const Timestamp from = m_picks.chosen->slice.range.begin;
    int best = -1;
    Duration nearest;
    for (std::size_t i = 0; i < m_picks.links.size(); ++i) {
        const LinkedSlice& link = m_picks.links[i];
        const Duration away =
            forward ? link.slice.range.begin - from : from - link.slice.range.begin;
        // a call and what it started may begin together: the device is forward
        const bool right = away.ns != 0 ? away.ns > 0 : forward == link.slice.onDevice;
        if (link.kind == LinkKind::kPeer || !right) continue;
        if (best >= 0 && away >= nearest) continue;
        best = static_cast<int>(i);
        nearest = away;
    }
    followLink(best);
}

void TimelineCanvas::clearSlice() {
    m_picks.chosen.reset();
    m_picks.links.clear();
    viewport()->update();
    Q_EMIT sliceCleared();
}

/// Others are shown, or there is other room for them.
void TimelineCanvas::lanesChanged() {
    const int room = std::max(1, static_cast<int>(m_shown.lanesArea().height()));
    verticalScrollBar()->setRange(0, std::max(0, lanes().height - room));
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setSingleStep(kScrollStep);
    Q_EMIT plotChanged(m_shown.labelWidth(), static_cast<int>(m_shown.scale().width));
    touchPicture();
}

void TimelineCanvas::touchPicture() {
    m_picture = QPixmap();
    viewport()->update();
}

void TimelineCanvas::requestPicture() {
    if (!isVisible()) return;
    if (const auto query = m_shown.query()) Q_EMIT pictureRequested(*query);
}

void TimelineCanvas::changeView(TimeRange view) {
    if (!m_shown.recording()) return;
    m_shown.setView(view);
    touchPicture();
    requestPicture();
    Q_EMIT viewChanged(m_shown.view());
}

void TimelineCanvas::pan(double fraction) {
    if (m_shown.recording()) changeView(panned(view(), fraction, m_shown.recording()->bounds()));
}

void TimelineCanvas::scroll(int pixels) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() + pixels);
}

void TimelineCanvas::zoom(double factor, Timestamp anchor) {
    if (m_shown.recording())
        changeView(zoomed(view(), factor, anchor, m_shown.recording()->bounds()));
}

std::optional<TimelineHit> TimelineCanvas::hitAt(QPointF at) const {
    return m_frame ? m_shown.hitAt(*m_frame, at) : std::nullopt;
}

Timestamp TimelineCanvas::anchor() const {
    const auto& at = m_pointer.at();
    return at && m_shown.lanesArea().contains(*at)
               ? m_shown.timeAt(at->x())
               : view().begin + Duration{view().duration().ns / 2};
}

void TimelineCanvas::zoomToSelection() {
    if (m_picks.range)
        changeView(*m_picks.range);
    else if (m_picks.chosen)
        changeView(m_picks.chosen->slice.range);
}

void TimelineCanvas::setMarks(const Marks& marks) {
    m_picks.marks = marks;
    viewport()->update();
}

/// The slice first, then the range. Marks stay: they are removed from their list.
void TimelineCanvas::clearNext() {
    if (m_picks.chosen || !m_picks.highlighted.isEmpty()) {
        m_picks.highlighted.clear();
        clearSlice();
    } else if (m_picks.range) {
        Q_EMIT selectionCleared();
    }
}

void TimelineCanvas::run(TimelineCommand command) {
    if (!m_shown.recording()) return;
    switch (command) {
        case TimelineCommand::kNone:
            return;
        case TimelineCommand::kZoomIn:
            return zoom(kZoomStep, anchor());
        case TimelineCommand::kZoomOut:
            return zoom(1 / kZoomStep, anchor());
        case TimelineCommand::kPanLeft:
            return pan(-kPanStep);
        case TimelineCommand::kPanRight:
            return pan(kPanStep);
        case TimelineCommand::kScrollUp:
            return scroll(-kScrollStep);
        case TimelineCommand::kScrollDown:
            return scroll(kScrollStep);
        case TimelineCommand::kFit:
            return changeView(m_shown.recording()->bounds());
        case TimelineCommand::kZoomToSelection:
            return zoomToSelection();
        case TimelineCommand::kNextSlice:
            return neighbourRequested(true);
        case TimelineCommand::kPreviousSlice:
            return neighbourRequested(false);
        case TimelineCommand::kNextRank:
            return sameCollectiveRequested(1);
        case TimelineCommand::kPreviousRank:
            return sameCollectiveRequested(-1);
        case TimelineCommand::kFollowBack:
            return followInTime(false);
        case TimelineCommand::kFollowForward:
            return followInTime(true);
        case TimelineCommand::kMark:
            return markRequested(anchor());
        case TimelineCommand::kClear:
            return clearNext();
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
    const bool isSideways = std::abs(sideways) > std::abs(notches);
    if (event->modifiers().testFlag(Qt::ControlModifier))
        zoom(std::pow(kZoomStep, notches), m_shown.timeAt(event->position().x()));
    else if (isSideways || event->modifiers().testFlag(Qt::ShiftModifier))
        pan(-(isSideways ? sideways : notches) * kPanStep);
    else
        scroll(-static_cast<int>(notches * kScrollStep));
    event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    const bool pans =
        event->modifiers().testFlag(Qt::ShiftModifier) || event->button() == Qt::MiddleButton;
    m_pointer.press(event->position(), view(), pans);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
    m_pointer.move(event->position());
    if (!m_pointer.isHeld())
        hover(event->position());
    else if (m_pointer.drag() == TimelinePointer::Drag::kPans && m_shown.recording())
        changeView(panned(m_pointer.viewBefore(), -m_pointer.moved() / m_shown.scale().width,
                          m_shown.recording()->bounds()));
    viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_pointer.isHeld()) return;
    m_pointer.move(event->position());
    const TimelinePointer::Drag drag = m_pointer.drag();
    const auto [left, right] = m_pointer.stretch();
    m_pointer.release();
    viewport()->update();
    if (drag == TimelinePointer::Drag::kNone) return click(event->position());
    if (drag == TimelinePointer::Drag::kPans || !m_shown.recording()) return;
    const TimeRange range =
        TimeRange{m_shown.timeAt(left), m_shown.timeAt(right)}.intersection(view());
    if (!range.empty()) Q_EMIT rangeSelected(range);
}

void TimelineCanvas::click(QPointF at) {
    if (at.x() < m_shown.labelWidth()) {
        const LaneRow* row = m_shown.rowAt(at.y());
        if (row == nullptr || row->isLane()) return;
        m_shown.toggle(LaneRow(*row));
        lanesChanged();
        requestPicture();
    } else if (const auto hit = hitAt(at)) {
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
    m_picks.hovered = hitAt(at);
    Q_EMIT hoverChanged(hoverLine(m_shown, m_frame.get(), m_picks.hovered, at));
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) {
        m_pointer.leave();
        m_picks.hovered.reset();
        viewport()->update();
        Q_EMIT hoverChanged({});
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::resizeEvent(QResizeEvent*) {
    m_shown.setSize(viewport()->size());
    lanesChanged();
    requestPicture();
}

void TimelineCanvas::scrollContentsBy(int, int) {
    m_shown.setTop(verticalScrollBar()->value());
    touchPicture();
}

QPixmap TimelineCanvas::renderPicture() const {
    const double ratio = devicePixelRatioF();
    QPixmap picture((QSizeF(viewport()->size()) * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    picture.fill(Theme::of(this).window);
    QPainter painter(&picture);
    paintTimeline(painter, m_shown, m_frame.get(), Theme::of(this));
    return picture;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
    if (m_picture.isNull()) m_picture = renderPicture();
    QPainter painter(viewport());
    painter.drawPixmap(0, 0, m_picture);
    if (hasFocus()) {
        painter.fillRect(QRectF(0, kRulerHeight, 2, viewport()->height() - kRulerHeight),
                         Theme::of(this).accent);
    }
    if (m_frame) paintHighlight(painter, m_shown, *m_frame, m_picks.highlighted, Theme::of(this));
    paintOverlay(painter, m_shown, m_picks, m_pointer, Theme::of(this));
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
