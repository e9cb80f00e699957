// One communicator of NCCL's own and whom it joins.
#pragma once

#include "engine/comm/nccl/nccl_communicator.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::comm {

struct NcclGroup {
    NcclSetup setup;  ///< rank, size and calls are of this group
    NcclHandle handle;
    std::vector<int> worldRanks;  ///< by rank of this group; for sentences
    std::uint32_t id = 0;         ///< CollectiveReport::group
};

/// All ranks. Blocks until they have joined. Throws CommunicationError.
[[nodiscard]] NcclGroup joinAll(NcclSetup setup);

/// Communicator::split(): blocks until every rank of `group` has called it. Throws
/// CommunicationError.
[[nodiscard]] NcclGroup splitOff(const NcclGroup& group, std::span<const int> members,
                                 std::uint32_t id);

/// Throws CommunicationError with NCCL's own words unless `result` is success.
void require(const NcclGroup& group, int result, const char* doing);

}  // namespace shardscope::comm
