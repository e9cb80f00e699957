// Mathematics of curves: smoothing, and how values are spread. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/ledger_view.h"
#include "storage/model/recording.h"

#include <QPointF>
#include <QVector>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// What pages draw of a part step by step: curves of what was reported, sums of the ledger. Made on
// the thread that reads the part, shared by all pages. Immutable.

/// As ranks report it.
inline constexpr const char* kThroughputMetric = "tokens_per_s";

/// By step.
struct StepCurves {
    std::map<std::string, QVector<QPointF>, std::less<>> metrics;  ///< as reported, by name
    QVector<QPointF> throughput;  ///< of all ranks, as the report defines it
    QVector<QPointF> times;       ///< from the first rank's beginning to the last one's end, in ms

    /// Of a metric; of throughput as the report defines it. Rank 0's own, which it reported, stands
    /// for it where steps do not say how many tokens they have.
    [[nodiscard]] const QVector<QPointF>& of(std::string_view metric) const;
};
/// Throughput and times of `ranks` instead of all; none: all. The rest is of all.
[[nodiscard]] StepCurves stepCurves(const RecordingSummary& summary,
                                    const std::vector<RankId>& ranks = {});

struct StepFigures {
    StepCurves curves;
    LedgerView ledger;
};
using StepFiguresPtr = std::shared_ptr<const StepFigures>;
[[nodiscard]] StepFiguresPtr stepFigures(const RecordingSummary& summary,
                                         const std::vector<analysis::LedgerRow>& ledger);

}  // namespace shardscope::desktop
