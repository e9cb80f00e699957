#include "engine/worker/cuda/cuda_parts.h"

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
    DeviceAllocation change;
    change.action = *action;
    change.sizeBytes = static_cast<std::int64_t>(entry.size_);
    change.device = entry.device_;
    change.stream = reinterpret_cast<std::uint64_t>(entry.stream_);
    // Where memory ran out, the address is the number of bytes the driver had left.
    if (*action == DeviceAllocationAction::kOutOfMemory) {
        change.freeBytes = static_cast<std::int64_t>(entry.addr_);
    } else {
        change.address = entry.addr_;
    }
    hook(change);
}

}  // namespace

void traceCudaAllocations(collectors::DeviceAllocationHook hook) {
    static std::once_flag once;
    g_hook.store(hook, std::memory_order_release);
    std::call_once(once,
                   [] { c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(&forward); });
}

}  // namespace shardscope::worker
