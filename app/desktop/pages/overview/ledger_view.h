// The step ledger as far as the selection goes; its figures are those of profiler/analysis. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/ledger.h"

#include <optional>
#include <vector>

namespace shardscope::desktop {

/// The ledger rows of the selection.
struct LedgerView {
    std::vector<analysis::LedgerRow> rows;
    std::vector<RankId> ranks;
    std::optional<StepIndex> first, last;
};
[[nodiscard]] LedgerView selectLedger(const OpenRecording& recording, const Selection& selection);

/// part / whole; 0 of nothing.
[[nodiscard]] double share(Duration part, Duration whole);

}  // namespace shardscope::desktop
