// Pure geometry: time on an x axis, and ticks at 1-2-5. No widget, no paint.
#pragma once

#include "storage/model/units.h"

#include <vector>

namespace shardscope::desktop {

/// A visible stretch of time laid over `width` pixels.
struct TimeScale {
    TimeRange range;
    double width = 1;

    [[nodiscard]] double nsPerPixel() const;
    [[nodiscard]] double x(Timestamp time) const;
    [[nodiscard]] Timestamp time(double x) const;
    /// Smallest time the picture can resolve; at least 1 ns.
    [[nodiscard]] Duration resolution() const;
};

/// `range` made `factor` times as long with `anchor` staying where it is, kept in `bounds`.
[[nodiscard]] TimeRange zoomed(TimeRange range, double factor, Timestamp anchor, TimeRange bounds);
/// `range` moved by `fraction` of its length, kept within `bounds`.
[[nodiscard]] TimeRange panned(TimeRange range, double fraction, TimeRange bounds);
/// `range` moved and, if too long, shortened so that it lies within `bounds`.
[[nodiscard]] TimeRange keptWithin(TimeRange range, TimeRange bounds);

/// Smallest of 1, 2, 5 x 10^n that gives at most `maximumTicks` steps in `span`.
[[nodiscard]] double niceStep(double span, int maximumTicks);
/// Multiples of niceStep within [low, high].
[[nodiscard]] std::vector<double> niceTicks(double low, double high, int maximumTicks);
/// Likewise in binary units: 1, 2, 4, 8 ... x 1024^n, for axes of bytes.
[[nodiscard]] std::vector<double> binaryTicks(double high, int maximumTicks);

}  // namespace shardscope::desktop
