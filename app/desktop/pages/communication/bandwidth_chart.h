// Size against bandwidth of collectives, log-log, with what a link of constant latency and
// bandwidth would reach. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"
#include "profiler/questions/communication.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

enum class Bandwidth { kBus, kAlgorithm };

struct BandwidthChart {
    QString title, unit, bottomTitle, definition;
    std::vector<LineSeries> series;
    std::vector<ChartMark> peaks;
    QString empty;  ///< why there is no point
};

/// Points that would lie on one another are drawn once.
[[nodiscard]] BandwidthChart bandwidthChart(const questions::Communication& told,
                                            const OpenRecording& recording, Bandwidth bandwidth);

}  // namespace shardscope::desktop
