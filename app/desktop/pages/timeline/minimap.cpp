#include "app/desktop/pages/timeline/minimap.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {

Minimap::Minimap(QWidget* parent) : QWidget(parent), m_labelWidth(kLabelWidth) {
    setFixedHeight(48);
    setAccessibleName(tr("Whole run: density of compute and of time blocked in communication"));
    setToolTip(
        tr("Blue: share of compute. Orange from below: share blocked in collectives, all ranks. "
           "Drag to move."));
}

void Minimap::setRecording(const RecordingPtr& recording) {
    m_recording = recording;
    update();
}

void Minimap::setView(TimeRange view) {
    m_view = view;
    update();
}

void Minimap::setPlot(int left, int width) {
    m_labelWidth = left;
    m_plotWidth = width;
    update();
}

QRectF Minimap::strip() const {
    QRectF area = QRectF(rect()).adjusted(m_labelWidth, 2, 0, -4);
    if (m_plotWidth > 0) area.setWidth(m_plotWidth);
    return area;
}

void Minimap::centreOn(double x) {
    if (!m_recording) return;
    const TimeScale scale{m_recording->bounds(), strip().width()};
    const Timestamp centre = scale.time(x - strip().left());
    const Duration half{m_view.duration().ns / 2};
    Q_EMIT viewRequested({centre - half, centre + half});
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    centreOn(event->position().x());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons().testFlag(Qt::LeftButton)) centreOn(event->position().x());
}

void Minimap::paintEvent(QPaintEvent*) {
    if (!m_recording) return;
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const QRectF area = strip();
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    drawTabular(painter, QRectF(16, area.top(), m_labelWidth - 16, 18), Qt::AlignLeft,
                tr("whole run"));
    drawTabular(painter, QRectF(16, area.top() + 18, m_labelWidth - 16, 18), Qt::AlignLeft,
                formatDuration(m_recording->bounds().duration()));
    painter.fillRect(area, theme.panel);
    const RunDensity& density = m_recording->density;
    QColor compute = theme.fill(Meaning::kCompute).colour;
    const QColor waiting = theme.fill(Meaning::kReduction).colour;
    const auto pixels = static_cast<std::size_t>(area.width());
    for (std::size_t x = 0; x < pixels && !density.compute.empty(); ++x) {
        const std::size_t first = x * density.compute.size() / pixels;
        const std::size_t last = std::max(first + 1, (x + 1) * density.compute.size() / pixels);
        float busy = 0;
        float blocked = 0;
        for (std::size_t i = first; i < last; ++i) {
            busy += density.compute[i];
            blocked += density.blocked[i];
        }
        const double count = static_cast<double>(last - first);
        const double left = area.left() + static_cast<double>(x);
        const double high = std::min(1.0, busy / count) * area.height();
        const double low = std::min(1.0, blocked / count) * area.height();
        painter.fillRect(QRectF(left, area.bottom() - high, 1, high), compute);
        painter.fillRect(QRectF(left, area.bottom() - low, 1, low), waiting);
    }
    const TimeScale scale{m_recording->bounds(), area.width()};
    QColor shade = theme.window;
    shade.setAlphaF(0.55F);
    const double left = area.left() + scale.x(m_view.begin);
    const double right = std::max(area.left() + scale.x(m_view.end), left + 3);
    painter.fillRect(QRectF(area.topLeft(), QPointF(left, area.bottom())), shade);
    painter.fillRect(QRectF(QPointF(right, area.top()), area.bottomRight()), shade);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRect(QRectF(QPointF(std::max(left, area.left() + 1), area.top() + 1),
                            QPointF(std::min(right, area.right() - 1), area.bottom())));
}

}  // namespace shardscope::desktop
