#include "app/desktop/pages/timeline/timeline_ruler.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <vector>

namespace shardscope::desktop {
namespace {

constexpr double kTickRoom = 104;
constexpr double kStepLabelRoom = 64;

std::vector<Timestamp> rulerTicks(const TimeScale& scale) {
    // nanoseconds as doubles lose the last digits after days: count from the view's begin
    const double span = static_cast<double>(scale.range.duration().ns);
    const auto step = std::max<std::int64_t>(
        1, std::llround(niceStep(span, std::max(2, static_cast<int>(scale.width / kTickRoom)))));
    std::vector<Timestamp> ticks;
    for (std::int64_t at = (scale.range.begin.ns + step - 1) / step * step;
         at <= scale.range.end.ns; at += step) {
        ticks.push_back({at});
    }
    return ticks;
}

Duration tickResolution(const std::vector<Timestamp>& ticks) {
    return ticks.size() > 1 ? ticks[1] - ticks[0] : Duration{1'000'000};
}

/// Every how many steps there is room for a name.
int stepStride(const TimelineViewport& viewport) {
    const RecordingSummary& summary = viewport.recording()->summary;
    const double all = static_cast<double>(summary.steps.size()) /
                       static_cast<double>(std::max<std::size_t>(1, summary.ranks.size()));
    const TimeScale& scale = viewport.scale();
    const TimeScale whole{viewport.recording()->bounds(), scale.width};
    const double pitch = whole.width * whole.nsPerPixel() / scale.nsPerPixel() / std::max(1.0, all);
    return static_cast<int>(std::max(1.0, niceStep(kStepLabelRoom / std::max(pitch, 0.01), 1)));
}

void paintTimes(QPainter& painter, const TimelineViewport& viewport) {
    const auto ticks = rulerTicks(viewport.scale());
    for (Timestamp tick : ticks) {
        const double x = viewport.xOf(tick) + 4;
        const QString text = formatInstant(tick, tickResolution(ticks));
        if (x + tabularWidth(painter.font(), text) > viewport.lanesArea().right()) continue;
        drawTabular(painter, QRectF(x, 2, 120, 16), Qt::AlignLeft, text);
    }
}

/// Of the first rank; those of the others lie close by.
void paintSteps(QPainter& painter, const TimelineViewport& viewport) {
    const auto& steps = viewport.recording()->summary.steps;
    const TimeScale& scale = viewport.scale();
    const QRectF lanes = viewport.lanesArea();
    const int stride = stepStride(viewport);
    double free = lanes.left();
    for (const StepFacts& step : steps) {
        if (step.rank != steps.front().rank || !step.range().intersects(viewport.view())) continue;
        const double begin = lanes.left() + std::max(0.0, scale.x(step.start));
        const double end = lanes.left() + std::min(scale.width, scale.x(step.end));
        if (scale.x(step.start) >= 0) {
            const double x = std::round(begin) + 0.5;
            painter.drawLine(QPointF(x, kRulerHeight - 18), QPointF(x, kRulerHeight - 4));
        }
        const QString name = QObject::tr("step %1").arg(step.step.value);
        const double wide = tabularWidth(painter.font(), name);
        const bool fits = stride > 1 ? step.step.value % stride == 0 : begin + wide + 8 <= end;
        if (begin < free || !fits || begin + wide + 8 > lanes.right()) continue;
        drawTabular(painter, QRectF(begin + 4, kRulerHeight - 20, wide + 8, 16), Qt::AlignLeft,
                    name);
        free = begin + wide + 16;
    }
}

}  // namespace

void paintGrid(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    painter.setPen(theme.hairline);
    for (Timestamp tick : rulerTicks(viewport.scale())) {
        const double x = std::round(viewport.xOf(tick)) + 0.5;
        painter.drawLine(QPointF(x, kRulerHeight - 18), QPointF(x, viewport.lanesArea().bottom()));
    }
}

void paintRuler(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    paintTimes(painter, viewport);
    if (viewport.recording() && !viewport.recording()->summary.steps.empty())
        paintSteps(painter, viewport);
}

}  // namespace shardscope::desktop
