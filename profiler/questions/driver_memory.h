// How long ranks took device memory from the driver and gave it back: what an allocator that caches
// does seldom once it has what it needs, and in each step where it finds no room.
#pragma once

#include "profiler/questions/question.h"

#include <map>
#include <set>
#include <string_view>

namespace shardscope::questions {

/// Whether a call of a device's runtime or driver takes or gives memory at once, and so may wait
/// for the device: cudaMalloc, cuMemCreate, hipFree, "cudaFree_v3020", ...; not memory of the host,
/// nor pools ordered by streams (cudaMallocAsync).
[[nodiscard]] bool isDriverMemoryCall(std::string_view name);

/// By rank: of its calls within `steps`. Without ranks whose calls were not traced.
[[nodiscard]] Result<std::map<RankId, Duration>> driverMemoryTime(const Asked& asked,
                                                                  const std::set<StepIndex>& steps);

}  // namespace shardscope::questions
