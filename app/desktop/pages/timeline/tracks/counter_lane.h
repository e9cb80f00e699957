// A counter as the timeline shows it: running sums as rates, in a unit that says something, with
// the scale of its strip. Pure.
#pragma once

#include "app/desktop/models/meaning.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

struct ShownCounter {
    QString unit;       ///< as formatCounter() takes it
    bool rate = false;  ///< of a running sum
    Meaning meaning = Meaning::kHost;
    std::vector<CounterView> points;
    double bottom = 0, top = 1;      ///< what the ends of the strip stand for
    double lowest = 0, highest = 0;  ///< of the points that are in view
    bool isKnown = false;            ///< there are such points

    /// 0 at the bottom of the strip, 1 at its top.
    [[nodiscard]] double share(double value) const;
};

/// `view`: what the scale is for. A rate is known between two samples; before the first one that
/// was loaded it is not.
[[nodiscard]] ShownCounter shownCounter(const LaneRow& row, const LaneFrame& frame, TimeRange view);
/// "CPU time" -> "CPU", "energy" -> "power from energy": what the rate of a sum is called.
[[nodiscard]] QString counterName(const QString& name, const QString& unit);
/// The unit of a lane, or the one that an imported lane's name implies.
[[nodiscard]] QString counterUnit(const QString& name, const QString& unit);

/// The highest value in each pixel column; below every value where nothing is known.
[[nodiscard]] std::vector<double> counterColumns(const std::vector<CounterView>& points,
                                                 const TimeScale& scale, int width);
inline constexpr double kNoValue = -1e300;

/// Values at the axis of a strip so high, from bottom to top; its ends at least.
[[nodiscard]] std::vector<double> counterTicks(const ShownCounter& counter, double height);

}  // namespace shardscope::desktop
