// Numbers of an Nsight Systems export and their words. Schema 2 has no ENUM tables, so they stand
// here. Internal to table_specs.cpp.
#pragma once

#include "storage/interchange/nsys/table_specs.h"

namespace shardscope::interchange::nsys {

inline constexpr Word kCopyKinds[] = {
    {0, "unknown", "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
    {1, "host to device", "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
    {2, "device to host", "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
    {3, "host to array", "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
    {4, "array to host", "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
    {5, "array to array", "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
    {6, "array to device", "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
    {7, "device to array", "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
    {8, "device to device", "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
    {9, "host to host", "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
    {10, "between devices", "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
    {11, "managed, host to device", "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"},
    {12, "managed, device to host", "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"},
    {13, "managed, device to device", "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"},
};

/// Not CUPTI's numbers, which begin with unknown.
inline constexpr Word kMemoryKinds[] = {
    {0, "pageable host", "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
    {1, "pinned host", "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
    {2, "device", "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
    {3, "array", "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
    {4, "managed", "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
    {5, "static device", "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
    {6, "static managed", "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
    {7, "unknown", "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"},
};

inline constexpr Word kSyncTypes[] = {
    {0, "unknown", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
    {1, "event", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
    {2, "stream waits for event", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
     "Stream wait sync"},
    {3, "stream", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
    {4, "device", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
};

inline constexpr Word kLaunchTypes[] = {
    {0, "unknown", "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"},
    {1, "regular", "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"},
    {2, "cooperative", "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE", "Coop Single Device"},
    {3, "cooperative on devices", "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE",
     "Coop Multi Device"},
};

inline constexpr Word kOverheadTypes[] = {
    {0, "undefined", "OVERHEAD_UNDEFINED", "Undefined"},
    {1, "unknown", "OVERHEAD_UNKNOWN", "Unknown"},
    {2, "compiling in the driver", "OVERHEAD_DRIVER_COMPILER", "Driver JIT compiler (CUDA)"},
    {3, "flushing buffers", "OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"},
    {4, "instrumentation", "OVERHEAD_CUPTI_INSTRUMENTATION", "Instrumentation (Profiler)"},
    {5, "tracer resources", "OVERHEAD_CUPTI_RESOURCE", "Resource creation/destruction (Profiler)"},
    {6, "loading a module", "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING",
     "Runtime module loading (CUDA)"},
    {7, "loading a function", "OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"},
    {8, "command buffer full", "OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"},
};

inline constexpr Word kEventClasses[] = {
    {0, "runtime", "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
    {1, "driver", "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
};

inline constexpr Word kEventTypes[] = {
    {nvtx::kCategory, "category", "NvtxCategory", "NvtxCategory"},
    {nvtx::kMark, "mark", "NvtxMark", "NvtxMark"},
    {nvtx::kThread, "thread", "NvtxThread", "NvtxThread"},
    {nvtx::kPushPop, "push/pop range", "NvtxPushPopRange", "NvtxPushPopRange"},
    {nvtx::kStartEnd, "start/end range", "NvtxStartEndRange", "NvtxStartEndRange"},
    {nvtx::kDomainCreate, "domain", "NvtxDomainCreate", "NvtxDomainCreate"},
};

}  // namespace shardscope::interchange::nsys
