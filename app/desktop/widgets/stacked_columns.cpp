#include "app/desktop/widgets/stacked_columns.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/painting.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

StackedColumns::StackedColumns(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void StackedColumns::setColumns(std::vector<StackedBar> columns) {
    m_columns = std::move(columns);
    m_hovered = -1;
    setAccessibleName(tr("%n columns", nullptr, static_cast<int>(m_columns.size())) + u", "_s +
                      m_bottomTitle);
    update();
}

void StackedColumns::setTitles(const QString& left, const QString& bottom) {
    m_leftTitle = left;
    m_bottomTitle = bottom;
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
        if (static_cast<int>(i) == m_hovered) {
            const double top = area.bottom() - range.position(below, area.height());
            painter.setPen(QPen(theme.text, 1));
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
}

void StackedColumns::mouseMoveEvent(QMouseEvent* event) {
    const int column = columnAt(event->position().x());
    if (column != m_hovered) {
        m_hovered = column;
        update();
    }
    if (column < 0) return;
    const StackedBar& bar = m_columns[static_cast<std::size_t>(column)];
    QStringList lines{u"%1 %2: %3"_s.arg(m_bottomTitle, bar.label, bar.total)};
    for (const BarSegment& segment : bar.segments)
        lines << u"%1  %2"_s.arg(segment.name, segment.text);
    QToolTip::showText(event->globalPosition().toPoint(), lines.join(u'\n'), this);
}

void StackedColumns::mousePressEvent(QMouseEvent* event) {
    const int column = columnAt(event->position().x());
    if (column >= 0) Q_EMIT columnActivated(column);
}

void StackedColumns::leaveEvent(QEvent*) {
    m_hovered = -1;
    update();
}

}  // namespace shardscope::desktop
