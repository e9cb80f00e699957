#include "app/desktop/models/step_figures.h"

#include "profiler/analysis/throughput.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

QVector<QPointF> stepTimes(const std::vector<StepFacts>& steps) {
    std::map<StepIndex, TimeRange> ranges;
    for (const StepFacts& step : steps) {
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

const QVector<QPointF>& StepCurves::of(std::string_view metric) const {
    static const QVector<QPointF> kNone;
    if (metric == kThroughputMetric && !throughput.isEmpty()) return throughput;
    const auto at = metrics.find(metric);
    return at == metrics.end() ? kNone : at->second;
}

StepCurves stepCurves(const RecordingSummary& summary) {
    StepCurves curves;
    for (const MetricPoint& point : summary.metrics)
        curves.metrics[point.name].push_back({static_cast<double>(point.step.value), point.value});
    for (const auto& [step, tokens] : analysis::throughputByStep(summary))
        curves.throughput.push_back({static_cast<double>(step.value), tokens});
    curves.times = stepTimes(summary.steps);
    return curves;
}

StepFiguresPtr stepFigures(const RecordingSummary& summary,
                           const std::vector<analysis::LedgerRow>& ledger) {
    return std::make_shared<const StepFigures>(
        StepFigures{stepCurves(summary), ledgerView(ledger)});
}

}  // namespace shardscope::desktop
