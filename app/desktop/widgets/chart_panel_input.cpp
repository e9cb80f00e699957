// What pointer and keys do to a chart.
#include "app/desktop/widgets/chart_panel.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

constexpr double kWheelFactor = 1.25;
/// Of the whole range: in a shorter stretch points cannot be distinguished.
constexpr double kShortestShare = 1e-4;

}  // namespace

void ChartPanel::showCursor(double x) {
    if (m_cursor == x) return;
    m_cursor = x;
    m_spoken.setCurrent(cursorText());
    update();
}

void ChartPanel::hideCursor() {
    if (!m_cursor) return;
    m_cursor.reset();
    m_spoken.setCurrent({});
    update();
}

void ChartPanel::zoomTo(std::optional<AxisRange> range) {
    if (m_zoom == range) return;
    m_zoom = range;
    rebuild();
}

void ChartPanel::changeZoom(std::optional<AxisRange> range) {
    const AxisRange all = m_all;
    if (range) {
        range->logarithmic = m_logX;
        const double shortest = m_whole ? 2 : (all.high - all.low) * kShortestShare;
        if (range->high - range->low < shortest) return;
        if (range->low <= all.low && range->high >= all.high) range.reset();
    }
    zoomTo(range);
    Q_EMIT zoomed(range);
}

void ChartPanel::zoomBy(double factor, double anchor) {
    const AxisRange now = horizontal(), all = m_all;
    const double share = now.position(anchor, 1);
    AxisRange next = now;
    next.low = std::max(all.low, now.value(share - share * factor, 1));
    next.high = std::min(all.high, now.value(share + (1 - share) * factor, 1));
    changeZoom(next);
}

void ChartPanel::moveCursor(int direction) {
    if (m_content.lines.empty() || m_content.lines.front().points.isEmpty()) return;
    const auto& points = m_content.lines.front().points;
    const double from = m_cursor.value_or(direction > 0 ? -INFINITY : INFINITY);
    const QPointF* next = nullptr;
    for (const QPointF& point : points) {
        if (direction > 0 && point.x() > from) {
            next = &point;
            break;
        }
        if (direction < 0 && point.x() < from) next = &point;
    }
    if (next == nullptr) return;
    showCursor(next->x());
    Q_EMIT cursorMoved(next->x());
}

void ChartPanel::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || isEmpty() || !plot().contains(event->position()))
        return;
    m_pressed = event->position();
    m_pressedRange = horizontal();
    const auto keys = event->modifiers();
    m_drag = keys.testFlag(Qt::ControlModifier) ? Drag::kZoom
             : keys.testFlag(Qt::ShiftModifier) ? Drag::kPan
                                                : Drag::kSelect;
}

void ChartPanel::mouseMoveEvent(QMouseEvent* event) {
    const QRectF area = plot();
    const double x = std::clamp(event->position().x(), area.left(), area.right());
    if (m_drag == Drag::kPan) {
        const AxisRange all = m_all;
        const double low =
            m_pressedRange.value(m_pressed.x() - event->position().x(), area.width());
        const double length = m_pressedRange.high - m_pressedRange.low;
        if (isZoomed() && !m_logX) {
            const double kept = std::clamp(low, all.low, std::max(all.low, all.high - length));
            changeZoom(AxisRange{kept, kept + length});
        }
        return;
    }
    if (m_drag != Drag::kNone &&
        std::abs(event->position().x() - m_pressed.x()) >= QApplication::startDragDistance()) {
        const double from = valueAt(m_pressed.x()), to = valueAt(x);
        m_dragged = AxisRange{std::min(from, to), std::max(from, to)};
        update();
    }
    if (isEmpty() || (m_drag == Drag::kNone && !area.contains(event->position()))) {
        hideCursor();
        Q_EMIT cursorLeft();
        return;
    }
    showCursor(valueAt(x));
    // what has no room above the plot stands beside the pointer
    if (const Header header = this->header(); header.isCut)
        QToolTip::showText(event->globalPosition().toPoint() + QPoint(12, 12), header.cursor, this);
    Q_EMIT cursorMoved(valueAt(x));
}

void ChartPanel::mouseReleaseEvent(QMouseEvent* event) {
    const Drag drag = std::exchange(m_drag, Drag::kNone);
    const auto dragged = std::exchange(m_dragged, std::nullopt);
    if (drag == Drag::kNone || drag == Drag::kPan) return;
    update();
    if (!dragged) {
        if (drag == Drag::kSelect) Q_EMIT activated(valueAt(event->position().x()));
    } else if (drag == Drag::kZoom) {
        changeZoom(*dragged);
    } else {
        Q_EMIT rangeSelected(dragged->low, dragged->high);
    }
}

void ChartPanel::mouseDoubleClickEvent(QMouseEvent*) {
    changeZoom(std::nullopt);
}

void ChartPanel::wheelEvent(QWheelEvent* event) {
    // a plain wheel scrolls the page
    if (m_compact || !event->modifiers().testFlag(Qt::ControlModifier)) {
        event->ignore();
        return;
    }
    zoomBy(std::pow(kWheelFactor, -event->angleDelta().y() / 120.0),
           valueAt(event->position().x()));
}

void ChartPanel::keyPressEvent(QKeyEvent* event) {
    const AxisRange now = horizontal();
    const double middle = m_cursor.value_or(now.value(0.5, 1));
    switch (event->key()) {
        case Qt::Key_Left:
            return moveCursor(-1);
        case Qt::Key_Right:
            return moveCursor(1);
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (m_cursor) Q_EMIT activated(*m_cursor);
            return;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            return zoomBy(1 / kWheelFactor, middle);
        case Qt::Key_Minus:
            return zoomBy(kWheelFactor, middle);
        case Qt::Key_0:
            return changeZoom(std::nullopt);
        default:
            QWidget::keyPressEvent(event);
    }
}

void ChartPanel::leaveEvent(QEvent*) {
    hideCursor();
    Q_EMIT cursorLeft();
}

void ChartPanel::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) rebuild();
    QWidget::changeEvent(event);
}

bool ChartPanel::event(QEvent* event) {
    // where these stand in the digit row they are not paging keys
    if (event->type() == QEvent::ShortcutOverride && !m_compact) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key != Qt::Key_Plus && key != Qt::Key_Minus && key != Qt::Key_Equal) return false;
        event->accept();
        return true;
    }
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (help->pos().y() < plot().top() && !m_definition.isEmpty() && !m_compact)
        QToolTip::showText(help->globalPos(), m_definition, this);
    else
        QToolTip::hideText();
    return true;
}

void linkCharts(const std::vector<ChartPanel*>& charts) {
    for (ChartPanel* from : charts) {
        for (ChartPanel* to : charts) {
            if (from == to) continue;
            QObject::connect(from, &ChartPanel::cursorMoved, to, &ChartPanel::showCursor);
            QObject::connect(from, &ChartPanel::cursorLeft, to, &ChartPanel::hideCursor);
            QObject::connect(from, &ChartPanel::zoomed, to, &ChartPanel::zoomTo);
        }
    }
}

}  // namespace shardscope::desktop
