// What a step is spent on, as bars of a chart: a bar each rank. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/ledger_view.h"

#include <vector>

namespace shardscope::desktop {

/// In ms, the mean step of each rank.
[[nodiscard]] std::vector<StackedBar> ledgerBars(const LedgerView& ledger);
/// Of all ranks together.
[[nodiscard]] StackedBar meanBar(const LedgerView& ledger);
/// Of the parts that there are.
[[nodiscard]] std::vector<LegendEntry> ledgerLegend(const LedgerView& ledger);

}  // namespace shardscope::desktop
