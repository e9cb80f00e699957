// What measurements of the window share. GUI thread.
#pragma once

namespace shardscope::desktop::bench {

/// Processor time of this process so far, in milliseconds.
[[nodiscard]] double processorMs();
/// Wall clock, in milliseconds.
[[nodiscard]] double wallMs();

/// Four charts of 4,000 points on a page.
void measureCharts();
/// Stacked bars and columns: Qt Charts against the raster.
void measureBars();

}  // namespace shardscope::desktop::bench
