#include "app/desktop/pages/timeline/canvas/timeline_ruler.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/widgets/painting.h"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace shardscope::desktop {
namespace {

/// Between times and steps.
constexpr double kMiddle = 19;

QFont rulerFont() {
    return textFont(kSmallPixels - 1);
}

Measure measure() {
    return [font = rulerFont()](const QString& text) { return tabularWidth(font, text); };
}

std::vector<RulerTick> ticksOf(const TimelineViewport& viewport) {
    return rulerTicks(viewport.scale(), viewport.rulerTime(), viewport.origin(), viewport.steps(),
                      measure());
}

void paintSteps(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    for (const RulerStep& step : rulerSteps(viewport.scale(), viewport.steps(), measure())) {
        const double x = std::round(lanes.left() + step.x) + 0.5;
        painter.setPen(theme.quietText);
        const double top = step.text.isEmpty() ? kRulerHeight - 8 : kMiddle + 2;
        const double bottom = viewport.stepLines() ? lanes.bottom() : kRulerHeight - 3;
        if (step.begins) painter.drawLine(QPointF(x, top), QPointF(x, bottom));
        if (step.text.isEmpty()) continue;
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(lanes.left() + step.textX, kMiddle + 1, 160, 16), Qt::AlignLeft,
                    step.text);
    }
}

using namespace Qt::StringLiterals;

constexpr double kTextGap = 20;
/// Lines closer than this are not drawn.
constexpr double kClosest = 6;
constexpr int kMostTicks = 200;

using Text = std::function<QString(Timestamp, Duration)>;

std::vector<Timestamp> multiples(TimeRange range, Timestamp origin, std::int64_t step) {
    std::vector<Timestamp> found;
    // nanoseconds as doubles lose the last digits after days: count in whole ones from the origin
    const std::int64_t before = range.begin.ns - origin.ns;
    std::int64_t at = before / step * step;
    if (at < before) at += step;
    for (; at <= range.end.ns - origin.ns && found.size() < kMostTicks; at += step)
        found.push_back({origin.ns + at});
    return found;
}

/// The finest step at 1-2-5 whose texts have room.
std::int64_t roomyStep(const TimeScale& scale, TimeRange range, Timestamp origin, const Text& text,
                       const Measure& measure) {
    const auto span = static_cast<double>(scale.range.duration().ns);
    std::int64_t step = 1;
    for (int count = std::max(1, static_cast<int>(scale.width / 48)); count >= 1; --count) {
        step = std::max<std::int64_t>(1, std::llround(niceStep(span, count)));
        const double pitch = static_cast<double>(step) / scale.nsPerPixel();
        double widest = 0;
        for (const Timestamp time : {range.begin, range.end})
            widest = std::max(
                widest, measure(text(origin + Duration{(time - origin).ns / step * step}, {step})));
        if (pitch >= widest + kTextGap) break;
    }
    return step;
}

void addTicks(const TimeScale& scale, TimeRange range, Timestamp origin, const Text& text,
              const Measure& measure, std::vector<RulerTick>& ticks) {
    if (range.empty()) return;
    const std::int64_t step = roomyStep(scale, range, origin, text, measure);
    const double right = std::min(scale.width, scale.x(range.end));
    for (const Timestamp at : multiples(range, origin, step)) {
        const QString label = text(at, {step});
        const double x = scale.x(at);
        if (x + 4 + measure(label) <= right) ticks.push_back({x, label});
    }
}

std::span<const StepMark> inSight(const TimeScale& scale, const std::vector<StepMark>& steps) {
    const auto first = std::partition_point(steps.begin(), steps.end(), [&](const StepMark& step) {
        return step.range.end <= scale.range.begin;
    });
    const auto last = std::partition_point(first, steps.end(), [&](const StepMark& step) {
        return step.range.begin < scale.range.end;
    });
    return {first, last};
}

QString stepName(StepIndex step) {
    return QObject::tr("step %1").arg(step.value);
}

/// Every how many steps, at 1-2-5, there is room for something of a width.
int strideOf(std::span<const StepMark> steps, const TimeScale& scale, double wide) {
    if (steps.size() < 2) return 1;
    const double all = scale.x(steps.back().range.begin) - scale.x(steps.front().range.begin);
    const double pitch = all / static_cast<double>(steps.size() - 1);
    return static_cast<int>(std::max(1.0, niceStep(wide / std::max(pitch, 1e-6), 1)));
}

}  // namespace

void paintGrid(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    painter.setPen(theme.hairline);
    const QRectF lanes = viewport.lanesArea();
    for (const RulerTick& tick : ticksOf(viewport)) {
        const double x = std::round(lanes.left() + tick.x) + 0.5;
        painter.drawLine(QPointF(x, 4), QPointF(x, kMiddle - 2));
        painter.drawLine(QPointF(x, kRulerHeight), QPointF(x, lanes.bottom()));
    }
}

void paintRuler(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    const QRectF lanes = viewport.lanesArea();
    painter.save();
    const double bottom = viewport.stepLines() ? lanes.bottom() : kRulerHeight;
    painter.setClipRect(QRectF(lanes.left(), 0, lanes.width(), bottom));
    painter.setFont(rulerFont());
    painter.setPen(theme.quietText);
    for (const RulerTick& tick : ticksOf(viewport))
        drawTabular(painter, QRectF(lanes.left() + tick.x + 4, 2, 160, 16), Qt::AlignLeft,
                    tick.text);
    paintSteps(painter, viewport, theme);
    painter.restore();
}

QString formatOffset(Duration offset, Duration step) {
    struct Unit {
        double ns;
        QString name;
    };
    const double most = std::abs(static_cast<double>(offset.ns));
    const double size = std::max(most, static_cast<double>(step.ns));
    const Unit unit = size >= 1e9   ? Unit{1e9, u"s"_s}
                      : size >= 1e6 ? Unit{1e6, u"ms"_s}
                      : size >= 1e3 ? Unit{1e3, u"µs"_s}
                                    : Unit{1, u"ns"_s};
    const QString number = formatTick(most / unit.ns, static_cast<double>(step.ns) / unit.ns);
    return (offset.ns < 0 ? u"−"_s : u"+"_s) + ValueText{number, unit.name}.joined();
}

QString stepTime(const std::vector<StepMark>& steps, Timestamp time, Duration resolution) {
    const auto after =
        std::partition_point(steps.begin(), steps.end(),
                             [time](const StepMark& step) { return step.range.begin <= time; });
    if (after == steps.begin()) return {};
    const StepMark& step = *(after - 1);
    if (time >= step.range.end) return {};
    QString offset = formatOffset(time - step.range.begin, resolution);
    return QObject::tr("%1 + %2").arg(stepName(step.step), offset.mid(1));
}

std::vector<RulerTick> rulerTicks(const TimeScale& scale, RulerTime kind, Timestamp origin,
                                  const std::vector<StepMark>& steps, const Measure& measure) {
    std::vector<RulerTick> ticks;
    if (scale.range.empty()) return ticks;
    if (kind == RulerTime::kAbsolute) {
        addTicks(scale, scale.range, {0}, formatInstant, measure, ticks);
    } else if (kind == RulerTime::kRelative) {
        addTicks(
            scale, scale.range, origin,
            [origin](Timestamp at, Duration step) { return formatOffset(at - origin, step); },
            measure, ticks);
    } else {
        for (const StepMark& step : inSight(scale, steps)) {
            const Timestamp start = step.range.begin;
            const TimeRange seen = step.range.intersection(scale.range);
            if (scale.x(seen.end) - scale.x(seen.begin) < 2 * kTextGap) continue;
            addTicks(
                scale, seen, start,
                [start](Timestamp at, Duration by) { return formatOffset(at - start, by); },
                measure, ticks);
        }
    }
    return ticks;
}

std::vector<RulerStep> rulerSteps(const TimeScale& scale, const std::vector<StepMark>& steps,
                                  const Measure& measure) {
    std::vector<RulerStep> found;
    const auto shown = inSight(scale, steps);
    if (shown.empty()) return found;
    const int stride = strideOf(shown, scale, measure(stepName(shown.back().step)) + kTextGap);
    const int lines = strideOf(shown, scale, kClosest);
    double freeText = 0, freeLine = -kClosest;
    for (const StepMark& step : shown) {
        RulerStep mark;
        const double begin = scale.x(step.range.begin);
        mark.begins = begin >= 0;
        mark.x = std::max(0.0, begin);
        mark.textX = mark.x + 4;
        const bool named = step.step.value % stride == 0 && mark.x >= freeText;
        if (named || shown.size() == 1) {
            const QString name = stepName(step.step);
            const double wide = measure(name);
            const double end = std::min(scale.width, scale.x(step.range.end));
            // in a stride the next name is far; else a name stays within its step
            const double room = (stride > 1 ? scale.width : end) - mark.x - 8;
            if (wide <= room || shown.size() == 1) {
                mark.text = name;
                freeText = mark.x + wide + kTextGap / 2;
            }
        }
        const bool round = step.step.value % lines == 0 && mark.x - freeLine >= kClosest;
        const bool line = mark.begins && (!mark.text.isEmpty() || round);
        if (line) freeLine = mark.x;
        if (line || !mark.text.isEmpty()) {
            mark.begins = line;
            found.push_back(mark);
        }
    }
    // where none fits, the one in the middle is named for all
    const bool named = std::any_of(found.begin(), found.end(),
                                   [](const RulerStep& step) { return !step.text.isEmpty(); });
    if (!named && !shown.empty()) {
        const StepMark& middle = shown[shown.size() / 2];
        const QString name = stepName(middle.step);
        const double x = std::clamp(scale.x(middle.range.begin), 0.0, scale.width);
        found.push_back(
            {x, false, name, std::clamp(x + 4, 0.0, std::max(0.0, scale.width - measure(name)))});
    }
    return found;
}

}  // namespace shardscope::desktop
