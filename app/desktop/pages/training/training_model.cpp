#include "app/desktop/pages/training/training_model.h"

#include "app/desktop/models/format.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

LineSeries seriesOf(const std::vector<MetricPoint>& metrics, const std::string& name,
                    const QString& title, Meaning meaning, bool dots) {
    LineSeries series{title, {}, meaning, dots};
    for (const MetricPoint& point : metrics) {
        if (point.name == name)
            series.points.push_back({static_cast<double>(point.step.value), point.value});
    }
    series.points = decimated(series.points, kChartPointLimit);
    return series;
}

}  // namespace

std::vector<MetricChart> metricCharts(const std::vector<MetricPoint>& metrics) {
    return {
        {u"loss"_s,
         u"Loss"_s,
         u"nats"_s,
         u"Mean cross entropy over all tokens of a step and all ranks; validation: the same on held-out data."_s,
         {seriesOf(metrics, "loss", u"training"_s, Meaning::kCompute, false),
          seriesOf(metrics, "validation_loss", u"validation"_s, Meaning::kReduction, true)}},
        {u"learning_rate"_s,
         u"Learning rate"_s,
         u"1"_s,
         u"Learning rate that AdamW used in the step, after warm-up and schedule."_s,
         {seriesOf(metrics, "learning_rate", u"learning rate"_s, Meaning::kCompute, false)}},
        {u"gradient_norm"_s,
         u"Gradient norm"_s,
         u"1"_s,
         u"2-norm of all gradients over all ranks, before clipping."_s,
         {seriesOf(metrics, "gradient_norm", u"gradient norm"_s, Meaning::kCompute, false)}},
        {u"tokens_per_s"_s,
         u"Throughput"_s,
         u"tok/s"_s,
         u"Tokens of the step over all ranks divided by its wall time."_s,
         {seriesOf(metrics, "tokens_per_s", u"tokens/s"_s, Meaning::kCompute, false)}},
    };
}

QString trainingHeadline(const OpenRecording& recording) {
    const auto& report = recording.report;
    if (!report.lossFirst || !report.lossLast) return u"No step reported a loss."_s;
    const auto steps = metricCharts(recording.summary.metrics)[0].series[0].points.size();
    return u"Loss went from %1 to %2 nats in %3 steps."_s.arg(
        formatNumber(*report.lossFirst), formatNumber(*report.lossLast), formatCount(steps));
}

QString trainingSubline(const OpenRecording& recording) {
    const auto& report = recording.report;
    QStringList parts;
    if (report.validationLossLast) {
        parts << u"Last validation loss %1 nats."_s.arg(formatNumber(*report.validationLossLast));
    } else {
        parts << u"No validation pass in this recording."_s;
    }
    if (report.stepSecondsMedian) {
        const Duration median{static_cast<std::int64_t>(*report.stepSecondsMedian * 1e9)};
        parts << u"Median step %1, %2 warm-up steps left out."_s.arg(formatDuration(median))
                     .arg(report.warmupStepsLeftOut);
    }
    return parts.join(u' ');
}

}  // namespace shardscope::desktop
