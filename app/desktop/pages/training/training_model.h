// Series of the Training page: metrics over steps. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

struct MetricChart {
    QString key;    ///< "loss"
    QString title;  ///< "Loss"
    QString unit;   ///< "nats"
    QString definition;
    std::vector<LineSeries> series;
};

[[nodiscard]] std::vector<MetricChart> metricCharts(const std::vector<MetricPoint>& metrics);
[[nodiscard]] QString trainingHeadline(const OpenRecording& recording);
[[nodiscard]] QString trainingSubline(const OpenRecording& recording);

}  // namespace shardscope::desktop
