#include "app/desktop/widgets/stacked_columns.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/cursor_keys.h"
#include "app/desktop/widgets/painting.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

StackedColumns::StackedColumns(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void StackedColumns::setColumns(std::vector<StackedBar> columns) {
    m_columns = std::move(columns);
    m_cursor = -1;
    describe();
    update();
}

void StackedColumns::describe() {
    m_spoken.setName(tr("%1 by %2: %3 columns")
                         .arg(m_leftTitle, m_bottomTitle)
                         .arg(static_cast<int>(m_columns.size())));
    const auto most = std::max_element(
        m_columns.begin(), m_columns.end(),
        [](const StackedBar& a, const StackedBar& b) { return a.sum() < b.sum(); });
    m_spoken.setSummary(
        most == m_columns.end()
            ? QString()
            : tr("highest: %1 %2: %3").arg(m_bottomTitle, most->label, most->total));
    m_spoken.setCurrent(linesOf(m_cursor).join(u", "_s));
}

void StackedColumns::setTitles(const QString& left, const QString& bottom) {
    m_leftTitle = left;
    m_bottomTitle = bottom;
    describe();
    update();
}

QRectF StackedColumns::plot() const {
    return QRectF(rect()).adjusted(72, 24, -8, -40);
}

double StackedColumns::highest() const {
    double highest = 0;
    for (const StackedBar& column : m_columns) highest = std::max(highest, column.sum());
    return highest > 0 ? highest * 1.05 : 1;
}

int StackedColumns::columnAt(double x) const {
    const QRectF area = plot();
    if (m_columns.empty() || x < area.left() || x >= area.right()) return -1;
    return static_cast<int>((x - area.left()) / area.width() *
                            static_cast<double>(m_columns.size()));
}

void StackedColumns::paintColumns(QPainter& painter, const AxisRange& range) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const double pitch = area.width() / static_cast<double>(m_columns.size());
    const double gap = pitch > 6 ? 2 : pitch > 3 ? 1 : 0;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const double left = std::round(area.left() + static_cast<double>(i) * pitch);
        const double right = std::round(area.left() + static_cast<double>(i + 1) * pitch) - gap;
        double below = 0;
        for (const BarSegment& segment : m_columns[i].segments) {
            const double bottom = area.bottom() - range.position(below, area.height());
            below += segment.value;
            const double top = area.bottom() - range.position(below, area.height());
            paintFill(painter,
                      QRectF(QPointF(left, top), QPointF(std::max(right, left + 1), bottom)),
                      theme.fill(segment.meaning), theme);
        }
        if (static_cast<int>(i) == m_cursor) {
            const double top = area.bottom() - range.position(below, area.height());
            painter.setPen(hasFocus() ? QPen(theme.accent, 2) : QPen(theme.text, 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(QRectF(left - 0.5, top - 1.5, right - left, area.bottom() - top + 1));
        }
    }
}

void StackedColumns::paintEvent(QPaintEvent*) {
    if (m_columns.empty()) return;
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const QRectF area = plot();
    const AxisRange range{0, highest()};
    const auto levels = niceTicks(0, range.high, 4);
    paintLeftAxis(
        painter, area, range, levels,
        [step = tickStep(levels)](double value) { return formatTick(value, step); }, m_leftTitle,
        theme);
    paintColumns(painter, range);
    const auto count = static_cast<double>(m_columns.size());
    const double step =
        std::max(1.0, niceStep(count, std::max(2, static_cast<int>(area.width() / 64))));
    std::vector<double> ticks;
    for (double i = 0; i < count; ++i) {
        const int label = m_columns[static_cast<std::size_t>(i)].label.toInt();
        if (label % static_cast<int>(step) == 0) ticks.push_back(i + 0.5);
    }
    const auto text = [this](double at) { return m_columns[static_cast<std::size_t>(at)].label; };
    paintBottomAxis(painter, area, {0, count}, ticks, text, m_bottomTitle, QRectF(rect()), theme);
    if (!hasFocus() || m_cursor >= 0) return;
    painter.setPen(QPen(theme.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5));
}

QStringList StackedColumns::linesOf(int column) const {
    if (column < 0) return {};
    const StackedBar& bar = m_columns[static_cast<std::size_t>(column)];
    QStringList lines{u"%1 %2: %3"_s.arg(m_bottomTitle, bar.label, bar.total)};
    for (const BarSegment& segment : bar.segments)
        lines << u"%1  %2"_s.arg(segment.name, segment.text);
    return lines;
}

void StackedColumns::moveCursor(int column) {
    if (column == m_cursor) return;
    m_cursor = column;
    m_spoken.setCurrent(linesOf(column).join(u", "_s));
    update();
}

void StackedColumns::mouseMoveEvent(QMouseEvent* event) {
    const int column = columnAt(event->position().x());
    moveCursor(column);
    if (column < 0) return;
    QToolTip::showText(event->globalPosition().toPoint(), linesOf(column).join(u'\n'), this);
}

void StackedColumns::mousePressEvent(QMouseEvent* event) {
    const int column = columnAt(event->position().x());
    if (column >= 0) Q_EMIT columnActivated(column);
}

void StackedColumns::leaveEvent(QEvent*) {
    if (!hasFocus()) moveCursor(-1);
}

void StackedColumns::keyPressEvent(QKeyEvent* event) {
    if (isActivation(event->key())) {
        if (m_cursor >= 0) Q_EMIT columnActivated(m_cursor);
        return;
    }
    const auto column =
        movedCursor(event->key(), m_cursor, static_cast<int>(m_columns.size()), Qt::Horizontal);
    if (!column) return QWidget::keyPressEvent(event);
    moveCursor(*column);
    const QPointF at(plot().left(), plot().bottom());
    QToolTip::showText(mapToGlobal(at.toPoint()), linesOf(m_cursor).join(u'\n'), this);
}

void StackedColumns::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void StackedColumns::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    moveCursor(-1);
    update();
}

}  // namespace shardscope::desktop
