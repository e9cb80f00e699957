// One word of the device's caching allocator, vendor-free.
#pragma once

#include <cstdint>

namespace shardscope::collectors {

enum class DeviceAllocationAction : std::uint8_t {
    kAllocate,
    kFreeRequested,    ///< the tensor is gone; the block may still be in use on a stream
    kFreeCompleted,    ///< the block is back in the pool
    kSegmentAllocate,  ///< the allocator took memory from the driver
    kSegmentFree,
    kSegmentMap,
    kSegmentUnmap,
    kOutOfMemory,  ///< size is what was asked for
};

struct DeviceAllocation {
    DeviceAllocationAction action = DeviceAllocationAction::kAllocate;
    std::uint64_t address = 0;
    std::int64_t sizeBytes = 0;
    std::int32_t device = 0;
    std::uint64_t stream = 0;
    std::int64_t freeBytes = -1;  ///< kOutOfMemory: what the driver had left
};

/// Called under the allocator's lock on the allocating thread: no LibTorch call, no blocking.
using DeviceAllocationHook = void (*)(const DeviceAllocation& allocation);

}  // namespace shardscope::collectors
