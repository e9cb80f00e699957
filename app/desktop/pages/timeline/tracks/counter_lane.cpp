#include "app/desktop/pages/timeline/tracks/counter_lane.h"

#include "app/desktop/models/time_scale.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Counters that hardly change would be a full strip.
constexpr double kHardlyChanges = 0.6;
/// A smaller level is not worth a separate scale.
constexpr double kLeastChange = 0.02;
constexpr double kTickRoom = 28;

/// A sum's name is not that of its rate.
struct Sum {
    QLatin1StringView unit;
    QLatin1StringView rateUnit;
    double scale;  ///< from units of the sum a nanosecond to the rate's unit
};
constexpr Sum kSums[] = {{"ns"_L1, "1"_L1, 1.0}, {"J"_L1, "W"_L1, 1e9}};

const Sum* sumOf(const QString& unit) {
    for (const Sum& sum : kSums)
        if (unit == sum.unit) return &sum;
    return nullptr;
}

std::vector<CounterView> rates(const std::vector<CounterView>& sums, double scale) {
    std::vector<CounterView> found;
    // the first sample may be older than what was loaded: what it grew by in which time is unknown
    for (std::size_t i = 1; i + 1 < sums.size(); ++i) {
        const TimeRange between{sums[i].range.begin, sums[i + 1].range.begin};
        if (between.empty()) continue;
        const double rate =
            (sums[i + 1].last - sums[i].last) / static_cast<double>(between.duration().ns) * scale;
        found.push_back({between, rate, rate, rate});
    }
    return found;
}

Meaning meaningOfCounter(const QString& unit) {
    if (unit == "1"_L1) return Meaning::kCompute;
    if (unit == "bytes/s"_L1) return Meaning::kCopy;
    return unit == "bytes"_L1 ? Meaning::kReserved : Meaning::kHost;
}

void setScale(ShownCounter& counter, double theory) {
    const double high = std::max(counter.highest, theory);
    if (counter.unit == "1"_L1) {
        counter.top = std::max(1.0, high);  // a share of a whole
        return;
    }
    const double change = counter.highest - counter.lowest;
    const bool flat =
        theory <= 0 && change > kLeastChange * high && counter.lowest > kHardlyChanges * high;
    if (flat) counter.bottom = counter.lowest - change * 0.1;
    if (counter.lowest < 0) counter.bottom = counter.lowest * 1.08;
    const double range = high - counter.bottom;
    counter.top = counter.bottom + (range > 0 ? range * 1.08 : 1);
}

}  // namespace

double ShownCounter::share(double value) const {
    return std::clamp((value - bottom) / (top - bottom), 0.0, 1.0);
}

QString counterUnit(const QString& name, const QString& unit) {
    if (!unit.isEmpty()) return unit;
    for (const auto word : {"bytes"_L1, "allocated"_L1, "reserved"_L1, "memory"_L1})
        if (name.contains(word, Qt::CaseInsensitive)) return u"bytes"_s;
    for (const auto word : {"util"_L1, "percent"_L1, "%"_L1})
        if (name.contains(word, Qt::CaseInsensitive)) return u"%"_s;
    return unit;
}

QString counterName(const QString& name, const QString& unit) {
    if (sumOf(unit) == nullptr) return name;
    if (name == "CPU time"_L1) return u"CPU"_s;
    return unit == "J"_L1 ? u"power (from %1)"_s.arg(name) : u"%1, rate"_s.arg(name);
}

ShownCounter shownCounter(const LaneRow& row, const LaneFrame& frame, TimeRange view) {
    ShownCounter counter;
    counter.unit = row.unit;
    if (const Sum* sum = sumOf(row.unit)) {
        counter.unit = sum->rateUnit;
        counter.rate = true;
        counter.points = rates(frame.points, sum->scale);
    } else {
        counter.points = frame.points;
    }
    counter.meaning = meaningOfCounter(counter.unit);
    for (const CounterView& point : counter.points) {
        if (!point.range.intersects(view)) continue;
        counter.lowest = counter.isKnown ? std::min(counter.lowest, point.minimum) : point.minimum;
        counter.highest =
            counter.isKnown ? std::max(counter.highest, point.maximum) : point.maximum;
        counter.isKnown = true;
    }
    setScale(counter, row.theoryBytes);
    return counter;
}

std::vector<double> counterColumns(const std::vector<CounterView>& points, const TimeScale& scale,
                                   int width) {
    std::vector<double> columns(static_cast<std::size_t>(std::max(1, width)), kNoValue);
    const double last = static_cast<double>(columns.size());
    for (const CounterView& point : points) {
        if (!point.range.intersects(scale.range)) continue;
        const auto from =
            static_cast<std::size_t>(std::clamp(scale.x(point.range.begin), 0.0, last - 1));
        const auto to = static_cast<std::size_t>(std::clamp(scale.x(point.range.end), 0.0, last));
        for (std::size_t x = from; x < std::max(to, from + 1); ++x)
            columns[x] = std::max(columns[x], point.maximum);
    }
    return columns;
}

std::vector<double> counterTicks(const ShownCounter& counter, double height) {
    if (counter.highest == 0 && counter.lowest == 0 && counter.unit != "1"_L1) return {0};
    if (height < 3 * kTickRoom) return {counter.bottom, counter.top};
    const int most = static_cast<int>(height / kTickRoom);
    if (counter.unit == "bytes"_L1 && counter.bottom == 0) return binaryTicks(counter.top, most);
    return niceTicks(counter.bottom, counter.top, most);
}

}  // namespace shardscope::desktop
