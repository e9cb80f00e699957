// What is said of training: curves over steps, how they are spread, slow steps, targets. Of the
// selected steps where some are selected. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/targets.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Curves of another recording, beside those of the open one.
struct ComparedRun {
    QString path;
    QString name;  ///< of the file
    int ranks = 0;
    StepCurves curves;
};

struct MetricChart {
    QString key;    ///< "loss"
    QString title;  ///< "Loss"
    QString unit;   ///< "nats"
    QString definition;
    std::vector<LineSeries> series;
};

/// How curves are shown.
struct CurveLook {
    double smoothing = 0;
    const std::vector<ComparedRun>* others = nullptr;  ///< drawn over these
    const StepCurves* curves = nullptr;                ///< of the selected ranks; null: made here
};

/// Loss, learning rate, gradient norm, throughput, step time; loss scale where it was recorded.
/// Over all steps; throughput and step time are of the selected ranks, and titles say so.
[[nodiscard]] std::vector<MetricChart> metricCharts(const OpenRecording& recording,
                                                    const Selection& selection = {},
                                                    const CurveLook& look = {});

/// How a metric is spread over the selected steps, with median and p99.
struct Spread {
    QString title;
    QString unit;
    std::optional<Histogram> histogram;
    std::vector<ChartMark> marks;
};
/// Of loss, step time and throughput.
[[nodiscard]] std::vector<Spread> spreads(const OpenRecording& recording,
                                          const analysis::Report& report,
                                          const Selection& selection,
                                          const StepCurves* curves = nullptr);

/// Whether a recording has anything this page shows; else why not.
[[nodiscard]] QString missingMetrics(const OpenRecording& recording);
/// Why a chart of MetricChart::key is empty.
[[nodiscard]] QString absentMetric(const OpenRecording& recording, const QString& key);

/// Events were dropped, or ranks lacked cores for so long that times are the machine's: nothing of
/// the run passes or fails a target.
[[nodiscard]] bool isUnsure(const analysis::Report& report);

/// A figure against its target.
struct TargetRow {
    QString name;
    QString value;  ///< "12.3 %", or why it is unknown
    std::optional<TargetVerdict> verdict;
    bool unsure = false;  ///< what it stands on is not to be relied on: it neither passes nor fails
    std::optional<double> share = {};  ///< the value; none: unknown
};
/// MFU, scaling, communication. The one-rank run among `others` is scaling's baseline.
[[nodiscard]] std::vector<TargetRow> targetRows(const SelectedPart& part, const Targets& targets,
                                                const std::vector<ComparedRun>& others);

/// MFU of each step that was counted by its operators, else throughput in the same proportion as
/// the report's. None where that is unknown.
[[nodiscard]] QVector<QPointF> mfuCurve(const SelectedPart& part);

[[nodiscard]] QString trainingHeadline(const OpenRecording& recording,
                                       const Selection& selection = {});
[[nodiscard]] QString trainingSubline(const SelectedPart& part);

/// "PaLM" of "palm", a way to count FLOPs as the command line calls it; others as they are.
[[nodiscard]] QString variantName(const QString& word);
/// What it counts, and its source.
[[nodiscard]] QString variantTip(const QString& word);

}  // namespace shardscope::desktop
