// LibTorch's CUDA caching allocator, told to DeviceAllocationHook.
#pragma once

#include "profiler/collectors/allocator/device_memory.h"

namespace shardscope::worker {

/// After the device was opened; cannot be undone. A second hook replaces the first.
void traceCudaAllocations(collectors::DeviceAllocationHook hook);

}  // namespace shardscope::worker
