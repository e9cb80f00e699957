// Figures of a single collective.
#pragma once

#include "storage/model/recording.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::analysis {

/// The rank at a place of a collective's arrivals; `members` as groupMembers() gives them. Where
/// they are not known, the place itself.
[[nodiscard]] RankId memberAt(const std::vector<RankId>& members, std::size_t place);

/// Whom the others waited for; nothing unless at least two arrivals are known.
[[nodiscard]] std::optional<RankId> lastToArrive(const CollectiveEvent& collective,
                                                 const std::vector<RankId>& members);

/// Bytes per second over the link while data moved, of all-gathers and reduce-scatters:
/// size x (n - 1) / n / time, the bus bandwidth of nccl-tests (doc/PERFORMANCE.md). Nothing for
/// other operations, or where size or time is not known.
[[nodiscard]] std::optional<double> busBandwidth(const CollectiveEvent& collective);

/// Time of `range` in which the rank's step thread computed nothing.
[[nodiscard]] Duration notBehindCompute(const RankEvents& events, TimeRange range);

}  // namespace shardscope::analysis
