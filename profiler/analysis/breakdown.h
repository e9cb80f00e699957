// What a rank's device did with its time: computed, communicated, copied, or nothing. On a CPU rank
// the step thread's work takes the place of compute kernels.
#pragma once

#include "storage/model/recording.h"

#include <optional>
#include <vector>

namespace shardscope::analysis {

/// Unions within `span`. Time that computes counts as computing whatever else goes on, so that
/// span = idle + compute + nonCompute, exactly.
struct Breakdown {
    RankId rank;
    Duration span;  ///< of the steps; without steps from the first kernel to the last
    Duration idle;  ///< no kernel, collective or copy at all
    Duration compute;
    Duration communication;  ///< hidden behind compute or not
    Duration nonCompute;     ///< communication or copies, and no compute
    Duration overlapped;     ///< of communication, behind compute
    /// 100 x overlapped / communication; absent without communication
    [[nodiscard]] std::optional<double> overlapPercent() const {
        if (communication.ns == 0) return std::nullopt;
        return 100 * static_cast<double>(overlapped.ns) / static_cast<double>(communication.ns);
    }
};

/// `copies`: of the rank's device, in any order. Nothing for a rank of which neither work nor
/// communication was recorded.
[[nodiscard]] std::optional<Breakdown> breakdownOf(const RecordingSummary& summary,
                                                   const RankEvents& events,
                                                   std::vector<TimeRange> copies);

}  // namespace shardscope::analysis
