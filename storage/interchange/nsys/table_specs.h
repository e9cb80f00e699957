// Tables of an Nsight Systems export and what of a span their columns are: one description for
// reading and for writing (../shared/reference/trace_formats.md 3.3, schema 2.9.1 to 3.25.0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardscope::interchange::nsys {

/// A number of the export that has a word, and its entry in the ENUM table.
struct Word {
    std::int64_t id = 0;
    std::string_view word;   ///< of an argument: "host to device"
    std::string_view name;   ///< "CUDA_MEMCPY_KIND_HTOD"
    std::string_view label;  ///< "Host-to-Device"
};

enum class Form : std::uint8_t {
    kInteger,
    kReal,
    kText,
    kString,  ///< id in StringIds; the text in the argument
    kTriple,  ///< columns ...X, ...Y, ...Z; a list in the argument
};

struct Field {
    std::string_view column;  ///< of a triple: without its last letter
    std::string_view key;     ///< of the argument
    Form form = Form::kInteger;
    /// NOT NULL in the export. 0 (of texts an empty list) is then left out of the arguments.
    bool required = false;
    std::span<const Word> words = {};
    std::string_view otherKey = {};  ///< what PyTorch's profiler calls it
};

enum class Activity : std::uint8_t {
    kKernel,
    kMemcpy,
    kMemset,
    kGraphTrace,
    kRuntime,
    kSynchronization,
    kCudaEvent,
    kOverhead,
    kProfilerOverhead,
    kGraphEvent,
    kGraphNodeEvent,
    kOsRuntime,
};

struct TableSpec {
    Activity activity = Activity::kKernel;
    std::string_view table;
    std::string_view category;    ///< of lanes, in the recording's configuration
    std::string_view nameColumn;  ///< id in StringIds; empty: named by what it is
    bool ofProcess = false;       ///< has globalPid, device, context and stream; else globalTid
    bool instant = false;         ///< has timestamp instead of start and end
    bool correlated = true;
    std::span<const Field> fields;
};

/// All tables whose rows become spans, NVTX_EVENTS apart.
[[nodiscard]] std::span<const TableSpec> tableSpecs();
[[nodiscard]] const TableSpec& specOf(Activity activity);
[[nodiscard]] const TableSpec* specOfCategory(std::string_view category);

/// Columns of NVTX_EVENTS that become arguments.
[[nodiscard]] std::span<const Field> nvtxFields();
namespace nvtx {
inline constexpr std::int64_t kCategory = 33, kMark = 34, kThread = 39, kPushPop = 59,
                              kStartEnd = 60, kDomainCreate = 75;
}

struct EnumTable {
    std::string_view table;
    std::span<const Word> words;
};
[[nodiscard]] std::span<const EnumTable> enumTables();
[[nodiscard]] std::span<const Word> copyKinds();
[[nodiscard]] std::span<const Word> syncTypes();

[[nodiscard]] const Word* wordOf(std::span<const Word> words, std::int64_t id);
[[nodiscard]] std::optional<std::int64_t> idOf(std::span<const Word> words, std::string_view word);

// Numbers of an Nsight Systems export and their words. Schema 2 has no ENUM tables, so they stand
// here. Internal to table_specs.cpp.

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
