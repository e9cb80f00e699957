// What the colours and marks of the timeline mean, of those that a recording can show. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"

#include <vector>

namespace shardscope::desktop {

/// `heatMap`: a rank is a thin row, coloured by what takes most of a pixel.
[[nodiscard]] std::vector<LegendEntry> timelineLegend(const OpenRecording& recording, bool heatMap);

}  // namespace shardscope::desktop
