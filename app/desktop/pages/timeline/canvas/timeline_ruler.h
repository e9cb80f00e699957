// The ruler above the lanes: ticks of time with their lines down through the lanes, and the steps.
#pragma once

#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QString>
#include <functional>
#include <vector>

namespace shardscope::desktop {

/// Lines behind everything else.
void paintGrid(QPainter& painter, const TimelineViewport& viewport, const Theme& theme);
/// Times and the names of steps, in front of the lanes.
void paintRuler(QPainter& painter, const TimelineViewport& viewport, const Theme& theme);

// What stands on the ruler: ticks of time with their texts, and steps. In pixels from the left edge
// of the lanes. Pure; `measure` gives the width of a text.

using Measure = std::function<double(const QString&)>;

struct RulerTick {
    double x = 0;
    QString text;
};

/// Ticks at 1-2-5 whose texts do not meet; at every width at least one as soon as it fits.
[[nodiscard]] std::vector<RulerTick> rulerTicks(const TimeScale& scale, RulerTime kind,
                                                Timestamp origin,
                                                const std::vector<StepMark>& steps,
                                                const Measure& measure);

/// The begin of a step, and its name where there is room.
struct RulerStep {
    double x = 0;
    bool begins = false;  ///< at x; else it began before the left edge
    QString text;         ///< empty: only a short line
    double textX = 0;
};

/// Names of every 1st, 2nd, 5th, 10th ... step, so that none touches the next; lines only where
/// they can be distinguished. The current step is always named.
[[nodiscard]] std::vector<RulerStep> rulerSteps(const TimeScale& scale,
                                                const std::vector<StepMark>& steps,
                                                const Measure& measure);

/// "+3.25 ms": as exact as `step` needs.
[[nodiscard]] QString formatOffset(Duration offset, Duration step);
/// "step 12 + 3.2 ms"; empty: between steps.
[[nodiscard]] QString stepTime(const std::vector<StepMark>& steps, Timestamp time,
                               Duration resolution);

}  // namespace shardscope::desktop
