// The step ledger as far as the selection goes: rows, medians, sums. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/report.h"

#include <array>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// The ledger rows of the selection.
struct LedgerView {
    std::vector<analysis::LedgerRow> rows;
    std::vector<RankId> ranks;
    std::optional<StepIndex> first, last;
    /// Median over the rows' steps of each part of one rank.
    [[nodiscard]] std::array<Duration, analysis::kLedgerPartCount> median(RankId rank) const;
    [[nodiscard]] Duration medianWall(RankId rank) const;
    /// Sum over all rows.
    [[nodiscard]] std::array<Duration, analysis::kLedgerPartCount> total() const;
    [[nodiscard]] Duration totalWall() const;
};
[[nodiscard]] LedgerView selectLedger(const OpenRecording& recording, const Selection& selection);

/// Place of a part in a ledger row.
[[nodiscard]] constexpr std::size_t at(analysis::LedgerPart part) {
    return static_cast<std::size_t>(part);
}
/// part / whole; 0 of nothing.
[[nodiscard]] double share(Duration part, Duration whole);
/// Time blocked in collectives, waiting for the slowest rank included.
[[nodiscard]] Duration blockedIn(const std::array<Duration, analysis::kLedgerPartCount>& parts);

}  // namespace shardscope::desktop
