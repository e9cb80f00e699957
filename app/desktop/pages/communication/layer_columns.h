// Hidden, exposed and waiting by layer and kind of collective, as columns. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"
#include "profiler/analysis/communication/exposure.h"
#include "profiler/questions/communication.h"

#include <QString>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct LayerColumns {
    QString unit;  ///< of values: "ms", "s"
    std::vector<ColumnGroup> groups;
    std::vector<std::vector<analysis::ExposureKind>> kinds;  ///< of each group's columns
    std::vector<LegendEntry> legend;
};

using LayerSums = std::map<analysis::ExposureKind, analysis::ExposureSum>;
/// The mean of a step of a rank; `rankSteps`: how many of those the sums are of, 0 (a trace without
/// steps): all together. `chosen`: emphasised; none: all are.
[[nodiscard]] LayerColumns layerColumns(const LayerSums& sums, std::size_t rankSteps,
                                        std::optional<analysis::ExposureKind> chosen = {});
/// "all-gather, block 3".
[[nodiscard]] QString kindText(const analysis::ExposureKind& kind);
/// The hatched meaning that goes with an operation's.
[[nodiscard]] Meaning waitingMeaningOf(CollectiveOp operation);

// Size against bandwidth of collectives, log-log, with what a link of constant latency and
// bandwidth would reach. Pure.

enum class Bandwidth { kBus, kAlgorithm };

struct BandwidthChart {
    QString title, unit, bottomTitle, definition;
    std::vector<LineSeries> series;
    std::vector<ChartMark> peaks;
    QString empty;  ///< why there is no point
};

/// Points that would lie on one another are drawn once.
[[nodiscard]] BandwidthChart bandwidthChart(const questions::Communication& communication,
                                            const OpenRecording& recording, Bandwidth bandwidth);

}  // namespace shardscope::desktop
