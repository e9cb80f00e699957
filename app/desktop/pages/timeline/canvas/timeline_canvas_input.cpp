// Wheel and mouse of the timeline, and what keys do there.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/canvas/timeline_pointer.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

/// What lies under a pointer that rests has changed.
void TimelineCanvas::followPointer() {
    if (m_pointer.at() && !m_pointer.isHeld()) hover(*m_pointer.at());
    viewport()->update();
}

void TimelineCanvas::pan(double fraction) {
    if (m_shown.recording()) changeView(panned(view(), fraction, m_shown.bounds()));
}

void TimelineCanvas::scroll(int pixels) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() + pixels);
}

void TimelineCanvas::zoom(double factor, Timestamp anchor) {
    if (m_shown.recording()) changeView(zoomed(view(), factor, anchor, m_shown.bounds()));
}

Timestamp TimelineCanvas::anchor() const {
    const auto& at = m_pointer.at();
    return at && m_shown.lanesArea().contains(*at)
               ? m_shown.timeAt(at->x())
               : view().begin + Duration{view().duration().ns / 2};
}

void TimelineCanvas::zoomToSelection() {
    if (m_picks.range) return changeView(*m_picks.range);
    if (!m_picks.chosen) return;
    // with what is around it: a slice from edge to edge shows nothing
    const TimeRange& range = m_picks.chosen->slice.range;
    const Duration margin{std::max<std::int64_t>(100, range.duration().ns / 5)};
    changeView({range.begin - margin, range.end + margin});
}

void TimelineCanvas::stepOnLane(bool forward) {
    return m_picks.chosen ? neighbourRequested(forward) : stepToLane(1);
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

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
    const double notches = event->angleDelta().y() / 120.0;
    const double sideways = event->angleDelta().x() / 120.0;
    const bool isSideways = std::abs(sideways) > std::abs(notches);
    if (event->modifiers().testFlag(Qt::ControlModifier))
        zoom(std::pow(kZoomStep, notches), m_shown.timeAt(event->position().x()));
    else if (isSideways || event->modifiers().testFlag(Qt::ShiftModifier))
        pan(-(isSideways ? sideways : notches) * kPanStep);
    else if (verticalScrollBar()->maximum() == 0)
        return event->ignore();  // what it stands in may scroll
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
                          m_shown.bounds()));
    viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_pointer.isHeld()) return;
    m_pointer.move(event->position());
    const TimelinePointer::Drag drag = m_pointer.drag();
    const auto [left, right] = m_pointer.stretch();
    m_pointer.release();
    followPointer();
    if (drag == TimelinePointer::Drag::kNone) return click(event->position());
    if (drag == TimelinePointer::Drag::kPans || !m_shown.recording()) return;
    const TimeRange range =
        TimeRange{m_shown.timeAt(left), m_shown.timeAt(right)}.intersection(view());
    if (!range.empty()) Q_EMIT rangeSelected(range);
}

void TimelineCanvas::click(QPointF at) {
    const bool onName = at.x() < m_shown.labelWidth();
    const LaneRow* row = onName ? m_shown.nameAt(at.y()) : m_shown.rowAt(at.y());
    if (row != nullptr && (onName || row->thin)) {
        // a row of a heat map is too thin to be aimed at: it opens
        if (row->isHeader() || row->thin) return act(LaneAction::kFold, row);
        if (row->allDepths > row->firstDepths()) act(LaneAction::kLevels, row);
    } else if (const auto hit = hitAt(at)) {
        selectSlice(hit->key, hit->slice);
    } else {
        clearSlice();
    }
}

/// Escape and Enter lead from the filter back to the lanes.
bool TimelineCanvas::eventFilter(QObject* watched, QEvent* event) {
    if (watched != m_filter || event->type() != QEvent::KeyPress)
        return QAbstractScrollArea::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape) m_filter->clear();
    if (key != Qt::Key_Escape && key != Qt::Key_Return && key != Qt::Key_Enter) return false;
    setFocus();
    return true;
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

}  // namespace shardscope::desktop
