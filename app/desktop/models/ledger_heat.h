// The ledger of many ranks as a heat map: rank x step, by the share of one part. Pure.
#pragma once

#include "app/desktop/models/heat_data.h"
#include "app/desktop/models/ledger_view.h"
#include "profiler/analysis/steps/ledger.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What a heat map of the ledger can show: a part's share of the step; all that is blocked.
struct HeatChoice {
    QString name;
    std::optional<analysis::LedgerPart> part;  ///< nullopt: blocked in communication
};
[[nodiscard]] std::vector<HeatChoice> heatChoices(const LedgerView& ledger);
/// Rows and columns of that map.
struct LedgerHeat {
    std::vector<RankId> ranks;
    std::vector<StepIndex> steps;
};
/// By the share of all steps together.
enum class HeatOrder { kByRank, kHighestFirst };
[[nodiscard]] LedgerHeat ledgerAxes(const std::vector<analysis::LedgerRow>& rows,
                                    const HeatChoice& choice, HeatOrder order);
[[nodiscard]] HeatData ledgerHeat(const std::vector<analysis::LedgerRow>& rows,
                                  const HeatChoice& choice, const LedgerHeat& axes);

}  // namespace shardscope::desktop
