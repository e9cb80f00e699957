#include "app/desktop/models/time_scale.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr std::int64_t kShortestViewNs = 200;

}  // namespace

double TimeScale::nsPerPixel() const {
    return static_cast<double>(range.duration().ns) / std::max(width, 1.0);
}

double TimeScale::x(Timestamp time) const {
    if (range.empty()) return 0;
    return static_cast<double>((time - range.begin).ns) / nsPerPixel();
}

Timestamp TimeScale::time(double x) const {
    return range.begin + Duration{static_cast<std::int64_t>(std::llround(x * nsPerPixel()))};
}

Duration TimeScale::resolution() const {
    return {std::max<std::int64_t>(1, static_cast<std::int64_t>(nsPerPixel()))};
}

TimeRange keptWithin(TimeRange range, TimeRange bounds) {
    if (range.duration() >= bounds.duration()) return bounds;
    if (range.begin < bounds.begin) return {bounds.begin, bounds.begin + range.duration()};
    if (range.end > bounds.end) return {bounds.end - range.duration(), bounds.end};
    return range;
}

TimeRange zoomed(TimeRange range, double factor, Timestamp anchor, TimeRange bounds) {
    const auto length = static_cast<double>(range.duration().ns);
    const auto wanted =
        std::max<std::int64_t>(std::min(kShortestViewNs, bounds.duration().ns),
                               static_cast<std::int64_t>(std::llround(length * factor)));
    const double share = length > 0 ? static_cast<double>((anchor - range.begin).ns) / length : 0.5;
    const Timestamp begin =
        anchor -
        Duration{static_cast<std::int64_t>(std::llround(share * static_cast<double>(wanted)))};
    return keptWithin({begin, begin + Duration{wanted}}, bounds);
}

TimeRange panned(TimeRange range, double fraction, TimeRange bounds) {
    const Duration shift{static_cast<std::int64_t>(
        std::llround(fraction * static_cast<double>(range.duration().ns)))};
    return keptWithin({range.begin + shift, range.end + shift}, bounds);
}

double niceStep(double span, int maximumTicks) {
    if (!(span > 0) || maximumTicks < 1) return 1;
    const double raw = span / maximumTicks;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    for (double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
}

std::vector<double> niceTicks(double low, double high, int maximumTicks) {
    std::vector<double> ticks;
    const double step = niceStep(high - low, maximumTicks);
    const double first = std::ceil(low / step - 1e-9);
    for (double index = first; index * step <= high + step * 1e-9; ++index) {
        ticks.push_back(index * step);
        if (ticks.size() > 1000) break;
    }
    return ticks;
}

std::vector<double> binaryTicks(double high, int maximumTicks) {
    double unit = 1;
    while (unit * 1024 <= high) unit *= 1024;
    double step = niceStep(high / unit, maximumTicks);
    if (step < 1 && unit > 1) {
        unit /= 1024;
        step = 1;
        while (high / unit / step > maximumTicks) step *= 2;
    }
    std::vector<double> ticks;
    for (double value = 0; value <= high * (1 + 1e-9); value += step * unit) ticks.push_back(value);
    return ticks;
}

}  // namespace shardscope::desktop
