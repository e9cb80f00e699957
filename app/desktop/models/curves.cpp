#include "app/desktop/models/curves.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr double kMostColumns = 60;

void sortOnce(std::vector<double>& values) {
    if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());
}

double quantileOfSorted(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

QVector<QPointF> smoothed(const QVector<QPointF>& points, double factor) {
    QVector<QPointF> smooth;
    smooth.reserve(points.size());
    double sum = 0, weight = 0;
    for (const QPointF& point : points) {
        if (!std::isfinite(point.y())) continue;
        sum = factor * sum + (1 - factor) * point.y();
        weight = factor * weight + (1 - factor);
        smooth.push_back({point.x(), sum / weight});
    }
    return smooth;
}

double quantileOf(std::vector<double> values, double share) {
    sortOnce(values);
    return quantileOfSorted(values, share);
}

std::optional<Histogram> histogramOf(std::vector<double> values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.size() < 2) return std::nullopt;
    sortOnce(values);
    const double span = values.back() - values.front();
    if (span <= 0) return Histogram{values.front() - 0.5, 1, {static_cast<double>(values.size())}};
    const double middle = quantileOfSorted(values, 0.75) - quantileOfSorted(values, 0.25);
    const double wide = 2 * middle / std::cbrt(static_cast<double>(values.size()));
    const double wanted = wide > 0 ? std::ceil(span / wide) : kMostColumns;
    const double columns = std::clamp(wanted, 1.0, kMostColumns);
    Histogram histogram{values.front(), span / columns, {}};
    histogram.counts.resize(static_cast<std::size_t>(columns));
    for (const double value : values) {
        const auto column = static_cast<std::size_t>((value - histogram.low) / histogram.width);
        ++histogram.counts[std::min(column, histogram.counts.size() - 1)];
    }
    return histogram;
}

}  // namespace shardscope::desktop
