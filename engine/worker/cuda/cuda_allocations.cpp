#include "engine/worker/cuda/cuda_allocations.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <mutex>
#include <optional>

namespace shardscope::worker {
namespace {

using c10::CachingDeviceAllocator::TraceEntry;
using collectors::DeviceAllocation;
using collectors::DeviceAllocationAction;

std::atomic<collectors::DeviceAllocationHook> g_hook{nullptr};

std::optional<DeviceAllocationAction> toAction(TraceEntry::Action action) {
    switch (action) {
        case TraceEntry::ALLOC:
            return DeviceAllocationAction::kAllocate;
        case TraceEntry::FREE_REQUESTED:
            return DeviceAllocationAction::kFreeRequested;
        case TraceEntry::FREE_COMPLETED:
            return DeviceAllocationAction::kFreeCompleted;
        case TraceEntry::SEGMENT_ALLOC:
            return DeviceAllocationAction::kSegmentAllocate;
        case TraceEntry::SEGMENT_FREE:
            return DeviceAllocationAction::kSegmentFree;
        case TraceEntry::SEGMENT_MAP:
            return DeviceAllocationAction::kSegmentMap;
        case TraceEntry::SEGMENT_UNMAP:
            return DeviceAllocationAction::kSegmentUnmap;
        case TraceEntry::OOM:
            return DeviceAllocationAction::kOutOfMemory;
        case TraceEntry::SNAPSHOT:
            break;
    }
    return std::nullopt;
}

/// Under the allocator's lock.
void forward(const TraceEntry& entry) {
    const auto action = toAction(entry.action_);
    const auto hook = g_hook.load(std::memory_order_acquire);
    if (!action || hook == nullptr) return;
    DeviceAllocation told;
    told.action = *action;
    told.sizeBytes = static_cast<std::int64_t>(entry.size_);
    told.device = entry.device_;
    told.stream = reinterpret_cast<std::uint64_t>(entry.stream_);
    // Where memory ran out, the address is the number of bytes the driver had left.
    if (*action == DeviceAllocationAction::kOutOfMemory) {
        told.freeBytes = static_cast<std::int64_t>(entry.addr_);
    } else {
        told.address = entry.addr_;
    }
    hook(told);
}

}  // namespace

void traceCudaAllocations(collectors::DeviceAllocationHook hook) {
    static std::once_flag once;
    g_hook.store(hook, std::memory_order_release);
    std::call_once(once,
                   [] { c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(&forward); });
}

}  // namespace shardscope::worker
