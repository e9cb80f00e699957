#include "app/desktop/models/step_figures.h"

#include "profiler/analysis/steps/throughput.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

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
        StepFigures{stepCurves(summary), ledgerView(ledger)});
}

}  // namespace shardscope::desktop
