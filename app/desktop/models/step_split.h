// What each step was spent on, as columns of a chart. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/steps/ledger.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Rows of the ledger by steps, neighbours together where there are more than a screen has room
/// for. No texts: what is not shown costs little.
struct StepSums {
    struct Column {
        StepSpan steps;
        analysis::LedgerParts parts{};
        std::int64_t rows = 0;
    };
    std::vector<Column> columns;
    analysis::LedgerParts all{};
};
/// `rank`: of that one alone.
[[nodiscard]] StepSums sumSteps(const std::vector<analysis::LedgerRow>& rows,
                                std::optional<RankId> rank = std::nullopt);

struct StepSplit {
    std::vector<StackedBar> columns;  ///< in ms
    std::vector<LegendEntry> legend;
    std::vector<StepSpan> steps;  ///< of each column
};

/// A column each, the mean over its rows.
[[nodiscard]] StepSplit stepSplit(const StepSums& sums);

}  // namespace shardscope::desktop
