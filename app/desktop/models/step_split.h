// What each step was spent on, as columns of a chart. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/ledger.h"

#include <vector>

namespace shardscope::desktop {

struct StepSplit {
    std::vector<StackedBar> columns;  ///< in ms
    std::vector<LegendEntry> legend;
    std::vector<StepSpan> steps;  ///< of each column
};

/// A column a step, the mean over its rows; neighbouring steps share one where there are more than
/// a screen has room for, so that the cost follows the screen.
[[nodiscard]] StepSplit stepSplit(const std::vector<analysis::LedgerRow>& rows);

}  // namespace shardscope::desktop
