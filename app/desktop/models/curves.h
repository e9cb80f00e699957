// Mathematics of curves: smoothing, and how values are spread. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"

#include <QPointF>
#include <QVector>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Exponential moving average without the pull of its beginning: `factor` 0 is the curve itself,
/// 0.99 follows slowly. Points that are not finite are left out.
[[nodiscard]] QVector<QPointF> smoothed(const QVector<QPointF>& points, double factor);
/// Columns by Freedman and Diaconis (2 IQR / cube root of n), at most 60; nullopt: fewer than two
/// finite values.
[[nodiscard]] std::optional<Histogram> histogramOf(std::vector<double> values);
/// The value below which `share` of the values lie, interpolated; of none 0.
[[nodiscard]] double quantileOf(std::vector<double> values, double share);

}  // namespace shardscope::desktop
