// Which rank comes last to collectives of the steps, how often, and by how much.
#pragma once

#include "profiler/analysis/transfers.h"

#include <cstdint>
#include <vector>

namespace shardscope::analysis {

/// Of the collectives to which one rank came last.
struct LastComer {
    RankId rank;
    std::int64_t collectives = 0;
    Duration median, longest;  ///< from the first arrival to its own
    Duration waited;           ///< by the others together
};

struct ArrivalSkew {
    std::vector<LastComer> ranks;  ///< by what the others waited, longest first
    std::int64_t told = 0;         ///< collectives of which it is known who came last
    std::int64_t unknown = 0;      ///< arrivals are not known, or hosts' clocks in doubt by more
};
[[nodiscard]] ArrivalSkew arrivalSkew(const std::vector<Transfer>& transfers);

}  // namespace shardscope::analysis
