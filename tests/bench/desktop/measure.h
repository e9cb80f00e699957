// What measurements of the window share. GUI thread.
#pragma once

#include <string>

namespace shardscope::desktop::bench {

/// Processor time of this process so far, in milliseconds.
[[nodiscard]] double processorMs();
/// Wall clock, in milliseconds.
[[nodiscard]] double wallMs();

/// Four charts of 4,000 points on a page.
void measureCharts();
/// Stacked bars and columns: Qt Charts against the raster.
void measureBars();
/// Stacks of a recording: reading them, laying them out, and zooms of the flame graph. The exit
/// status.
int measureFlame(const std::string& path);
/// Opening a recording in a window of 1920x1080, and zooms, jumps and hovers in its Timeline. The
/// exit status.
int measureTimeline(const std::string& path, bool onlyOpens);

}  // namespace shardscope::desktop::bench
