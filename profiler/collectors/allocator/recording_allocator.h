// The CPU tensor allocator with a memory event for every block, of all threads.
//
// Owns the memory itself: a 64-byte header in front of a 64-byte aligned block keeps size and
// category, so that a free is booked where its allocation was. What a block is for is asked of
// the calling thread. Installed once, before the first tensor, for the process's life.
#pragma once

#include "profiler/capture/capture_session.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shardscope::collectors {

/// What a block is for. `owner` is a static string, or null for the running operator.
struct BlockUse {
    MemoryCategory category = MemoryCategory::kOther;
    const char* owner = nullptr;
};

/// Makes the allocator LibTorch's; `use` is asked on the allocating thread.
void installRecordingAllocator(BlockUse (*use)());

/// Where events go from now on; null: nowhere. Frees of blocks that were recorded are always
/// reported, so that totals stay right over pauses.
void attachAllocator(capture::CaptureSession* session);

struct AllocationFailure {
    std::size_t bytes = 0;
    BlockUse use;
};
/// The last allocation that failed since the last call; it threw std::bad_alloc.
[[nodiscard]] std::optional<AllocationFailure> takeAllocationFailure();

/// Bytes in live blocks.
[[nodiscard]] std::int64_t allocatedBytes();

/// Most bytes in live blocks since the last call.
[[nodiscard]] std::int64_t takePeakAllocatedBytes();

}  // namespace shardscope::collectors
