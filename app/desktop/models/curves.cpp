#include "app/desktop/models/curves.h"

#include "profiler/analysis/steps/throughput.h"
#include "storage/model/step_facts.h"

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

QVector<QPointF> stepTimes(const std::vector<StepFacts>& steps, const std::vector<RankId>& ranks) {
    std::map<StepIndex, TimeRange> ranges;
    for (const StepFacts& step : steps) {
        if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), step.rank) == ranks.end())
            continue;
        const auto [at, isNew] = ranges.try_emplace(step.step, step.range());
        if (isNew) continue;
        at->second.begin = std::min(at->second.begin, step.start);
        at->second.end = std::max(at->second.end, step.end);
    }
    QVector<QPointF> points;
    for (const auto& [step, range] : ranges)
        points.push_back(
            {static_cast<double>(step.value), static_cast<double>(range.duration().ns) / 1e6});
    return points;
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

const QVector<QPointF>& StepCurves::of(std::string_view metric) const {
    static const QVector<QPointF> kNone;
    if (metric == kThroughputMetric && !throughput.isEmpty()) return throughput;
    const auto at = metrics.find(metric);
    return at == metrics.end() ? kNone : at->second;
}

StepCurves stepCurves(const RecordingSummary& summary, const std::vector<RankId>& ranks) {
    StepCurves curves;
    for (const MetricPoint& point : summary.metrics)
        curves.metrics[point.name].push_back({static_cast<double>(point.step.value), point.value});
    // what ranks reported is of all of them
    if (!ranks.empty()) curves.metrics.erase(kThroughputMetric);
    for (const auto& [step, tokens] : analysis::throughputByStep(summary, ranks))
        curves.throughput.push_back({static_cast<double>(step.value), tokens});
    curves.times = stepTimes(summary.steps, ranks);
    return curves;
}

StepFiguresPtr stepFigures(const RecordingSummary& summary,
                           const std::vector<analysis::LedgerRow>& ledger) {
    return std::make_shared<const StepFigures>(
        StepFigures{stepCurves(summary), ledgerView(ledger, summary.steps)});
}

}  // namespace shardscope::desktop
