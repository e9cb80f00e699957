// What a rank of a run needs by theory (engine/run/theory), as bars and curves: beside other
// strategies, over numbers of ranks, and what its parameters are. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "engine/run/config/run_config.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// Bytes by category, at the moment at which most is held.
[[nodiscard]] StackedBar theoryBar(const run::RunConfig& config, const QString& label,
                                   bool emphasised);

/// Of the categories that some bar has, in the order in which they are stacked.
[[nodiscard]] std::vector<LegendEntry> theoryLegend(const std::vector<StackedBar>& bars);

/// The same run by DDP and ZeRO 1, 2, 3, on its ranks, and by its own strategy, which is
/// emphasised, where that is none of these.
[[nodiscard]] std::vector<StackedBar> stageBars(const run::RunConfig& config);

/// Bytes of a rank, of the same four, over 1 to 1,024 ranks.
[[nodiscard]] std::vector<LineSeries> stageCurves(const run::RunConfig& config);

/// Parameters of the model: embeddings, and all blocks' attention, feed-forward and norms.
[[nodiscard]] std::vector<StackedBar> parameterBars(const run::RunConfig& config);

}  // namespace shardscope::desktop
