// The step ledger of what is selected; its figures are those of profiler/analysis. Pure.
#pragma once

#include "app/desktop/models/selected_part.h"
#include "profiler/analysis/ledger.h"

#include <optional>
#include <vector>

namespace shardscope::desktop {

struct LedgerView {
    std::vector<analysis::LedgerRow> rows;
    std::vector<RankId> ranks;
    std::optional<StepIndex> first, last;

    /// Steps, however many ranks they have rows of.
    [[nodiscard]] int steps() const;
    [[nodiscard]] std::vector<analysis::LedgerRow> of(RankId rank) const;
};
[[nodiscard]] LedgerView ledgerOf(const SelectedPart& part);

/// What a step takes of each part on the mean: they add up to the mean step.
[[nodiscard]] analysis::LedgerParts meanParts(const std::vector<analysis::LedgerRow>& rows);

/// part / whole; 0 of nothing.
[[nodiscard]] double share(Duration part, Duration whole);

}  // namespace shardscope::desktop
