#include "storage/interchange/nsys/table_specs.h"

#include <algorithm>

namespace shardscope::interchange::nsys {
namespace {

constexpr auto kInteger = Form::kInteger;
constexpr auto kString = Form::kString;

constexpr Field kKernelFields[] = {
    {"shortName", "short_name", kString, true},
    {"mangledName", "mangled_name", kString},
    {"launchType", "launch", kInteger, false, kLaunchTypes},
    {"cacheConfig", "cache_configuration"},
    {"registersPerThread", "registers", kInteger, true, {}, "registers per thread"},
    {"grid", "grid", Form::kTriple, true},
    {"block", "block", Form::kTriple, true},
    {"staticSharedMemory", "static_shared_bytes", kInteger, true},
    {"dynamicSharedMemory", "dynamic_shared_bytes", kInteger, true},
    {"localMemoryPerThread", "local_bytes_per_thread", kInteger, true},
    {"localMemoryTotal", "local_bytes", kInteger, true},
    {"gridId", "grid_id", kInteger, true},
    {"sharedMemoryExecuted", "executed_shared_bytes"},
    {"graphNodeId", "graph_node", kInteger, false, {}, "graph node id"},
    {"sharedMemoryLimitConfig", "shared_limit"},
    {"qmdBulkReleaseDone", "bulk_release_done"},
    {"qmdPreexitDone", "pre_exit_done"},
    {"qmdLastCtaDone", "last_block_done"},
    {"graphId", "graph", kInteger, false, {}, "graph id"},
    {"cluster", "cluster", Form::kTriple},
    {"clusterSchedulingPolicy", "cluster_scheduling"},
    {"maxPotentialClusterSize", "largest_potential_cluster"},
    {"maxActiveClusters", "most_active_clusters"},
    {"sharedMemoryRequestedPercentage", "requested_shared_percentage"},
    {"tensorSizeMinusOneElements", "tensor_sizes", Form::kText, true},
    {"greenContextId", "green_context"},
};

constexpr Field kCopyFields[] = {
    {"bytes", "bytes", kInteger, true},
    {"copyKind", "copy_kind", kInteger, true, kCopyKinds},
    {"deprecatedSrcId", "deprecated_source"},
    {"srcKind", "from", kInteger, false, kMemoryKinds},
    {"dstKind", "to", kInteger, false, kMemoryKinds},
    {"srcDeviceId", "from_device"},
    {"srcContextId", "from_context"},
    {"dstDeviceId", "to_device"},
    {"dstContextId", "to_context"},
    {"migrationCause", "migration_cause"},
    {"graphNodeId", "graph_node", kInteger, false, {}, "graph node id"},
    {"virtualAddress", "address"},
    {"copyCount", "copies"},
    {"greenContextId", "green_context"},
};

constexpr Field kSetFields[] = {
    {"value", "value", kInteger, true},
    {"bytes", "bytes", kInteger, true},
    {"graphNodeId", "graph_node", kInteger, false, {}, "graph node id"},
    {"memKind", "memory", kInteger, false, kMemoryKinds},
    {"greenContextId", "green_context"},
};

constexpr Field kGraphTraceFields[] = {
    {"graphId", "graph", kInteger, true, {}, "graph id"},
    {"graphExecId", "graph_execution", kInteger, true},
    {"endDeviceId", "end_device"},
    {"endContextId", "end_context"},
    {"greenContextId", "green_context"},
};

constexpr Field kRuntimeFields[] = {
    {"eventClass", "api", kInteger, true, kEventClasses},
    {"returnValue", "error", kInteger, true},
    {"callchainId", "call_chain"},
};

constexpr Field kSyncFields[] = {
    {"syncType", "sync_type", kInteger, true, kSyncTypes},
    {"eventId", "event", kInteger, true},
    {"deprecatedSyncType", "deprecated_sync_type"},
    {"eventSyncId", "event_sync"},
    {"greenContextId", "green_context"},
};

constexpr Field kEventFields[] = {
    {"eventId", "event", kInteger, true},
    {"eventSyncId", "event_sync"},
    {"greenContextId", "green_context"},
};

constexpr Field kOverheadFields[] = {
    {"eventClass", "event_class", kInteger, true},
    {"overheadType", "overhead", kInteger, true, kOverheadTypes},
};
constexpr Field kProfilerOverheadFields[] = {
    {"overheadType", "overhead", kInteger, true, kOverheadTypes},
    {"returnValue", "return_value"},  // before 3.24
};
constexpr Field kGraphFields[] = {
    {"eventClass", "event_class", kInteger, true},
    {"graphId", "graph", kInteger, true},
    {"originalGraphId", "original_graph"},
    {"graphExecId", "graph_execution"},
};
constexpr Field kGraphNodeFields[] = {
    {"eventClass", "event_class", kInteger, true},
    {"graphNodeId", "graph_node", kInteger, true},
    {"originalGraphNodeId", "original_graph_node"},
    {"graphId", "graph"},
};
constexpr Field kOsRuntimeFields[] = {
    {"eventClass", "event_class", kInteger, true},
    {"returnValue", "return_value", kInteger, true},
    {"nestingLevel", "nesting"},
    {"correlationId", "call"},  // numbers of its own, not those of CUDA
    {"callchainId", "call_chain", kInteger, true},
};

constexpr Field kNvtxFields[] = {
    {"rangeId", "range"},
    {"category", "category"},
    {"color", "color"},
    {"domainId", "domain", kInteger, false},
    {"uint64Value", "uint64"},
    {"int64Value", "int64"},
    {"doubleValue", "double", Form::kReal},
    {"uint32Value", "uint32"},
    {"int32Value", "int32"},
    {"floatValue", "float", Form::kReal},
    {"jsonText", "payload", Form::kText},
    {"jsonTextId", "registered_payload", kString},
};

constexpr TableSpec kTables[] = {
    {Activity::kKernel, "CUPTI_ACTIVITY_KIND_KERNEL", "kernel", "demangledName", true, false, true,
     kKernelFields},
    {Activity::kMemcpy, "CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy", "", true, false, true, kCopyFields},
    {Activity::kMemset, "CUPTI_ACTIVITY_KIND_MEMSET", "memset", "", true, false, true, kSetFields},
    {Activity::kGraphTrace, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph", "", true, false, true,
     kGraphTraceFields},
    {Activity::kRuntime, "CUPTI_ACTIVITY_KIND_RUNTIME", "runtime", "nameId", false, false, true,
     kRuntimeFields},
    {Activity::kSynchronization, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "synchronization", "", true,
     false, true, kSyncFields},
    {Activity::kCudaEvent, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "cuda_event", "", true, true, true,
     kEventFields},
    {Activity::kOverhead, "CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead", "nameId", false, false, true,
     kOverheadFields},
    {Activity::kProfilerOverhead, "PROFILER_OVERHEAD", "profiler_overhead", "nameId", false, false,
     false, kProfilerOverheadFields},
    {Activity::kGraphEvent, "CUDA_GRAPH_EVENTS", "graph_event", "nameId", false, false, false,
     kGraphFields},
    {Activity::kGraphNodeEvent, "CUDA_GRAPH_NODE_EVENTS", "graph_node_event", "nameId", false,
     false, false, kGraphNodeFields},
    {Activity::kOsRuntime, "OSRT_API", "os_runtime", "nameId", false, false, false,
     kOsRuntimeFields},
};

constexpr EnumTable kEnumTables[] = {
    {"ENUM_CUDA_MEMCPY_OPER", kCopyKinds},        {"ENUM_CUDA_MEM_KIND", kMemoryKinds},
    {"ENUM_CUPTI_SYNC_TYPE", kSyncTypes},         {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", kLaunchTypes},
    {"ENUM_CUPTI_OVERHEAD_TYPE", kOverheadTypes}, {"ENUM_NSYS_EVENT_CLASS", kEventClasses},
    {"ENUM_NSYS_EVENT_TYPE", kEventTypes},
};

}  // namespace

std::span<const TableSpec> tableSpecs() {
    return kTables;
}
const TableSpec& specOf(Activity activity) {
    return kTables[static_cast<std::size_t>(activity)];
}
const TableSpec* specOfCategory(std::string_view category) {
    const auto* at = std::find_if(std::begin(kTables), std::end(kTables),
                                  [&](const TableSpec& t) { return t.category == category; });
    return at == std::end(kTables) ? nullptr : at;
}
std::span<const Field> nvtxFields() {
    return kNvtxFields;
}
std::span<const EnumTable> enumTables() {
    return kEnumTables;
}
std::span<const Word> copyKinds() {
    return kCopyKinds;
}
std::span<const Word> syncTypes() {
    return kSyncTypes;
}

const Word* wordOf(std::span<const Word> words, std::int64_t id) {
    for (const Word& word : words)
        if (word.id == id) return &word;
    return nullptr;
}
std::optional<std::int64_t> idOf(std::span<const Word> words, std::string_view word) {
    for (const Word& each : words)
        if (each.word == word) return each.id;
    return std::nullopt;
}

}  // namespace shardscope::interchange::nsys
