#include "profiler/collectors/cupti/span_texts.h"

#include "profiler/collectors/cupti/traced_calls.h"

#include <cupti.h>
#include <fmt/format.h>

#include <array>

namespace shardscope::collectors::cupti {
namespace {

constexpr std::uint32_t kNone = CUPTI_SYNCHRONIZATION_INVALID_VALUE;

class JsonObject {
public:
    explicit JsonObject(std::string_view operatorName) {
        if (!operatorName.empty()) text("operator", operatorName);
    }
    JsonObject& number(std::string_view key, std::int64_t value) {
        return raw(key, fmt::to_string(value));
    }
    JsonObject& triple(std::string_view key, const std::array<std::int32_t, 3>& value) {
        return raw(key, fmt::format("[{},{},{}]", value[0], value[1], value[2]));
    }
    JsonObject& text(std::string_view key, std::string_view value) {
        std::string quoted = "\"";
        for (const char c : value) {
            if (c == '"' || c == '\\') quoted += '\\';
            quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return raw(key, quoted + '"');
    }
    [[nodiscard]] std::string take() { return m_text.empty() ? std::string() : '{' + m_text + '}'; }

private:
    JsonObject& raw(std::string_view key, std::string_view value) {
        if (!m_text.empty()) m_text += ',';
        fmt::format_to(std::back_inserter(m_text), "\"{}\":{}", key, value);
        return *this;
    }
    std::string m_text;
};

JsonObject& place(JsonObject& object, const DeviceWork& work) {
    object.number("stream", work.stream.stream);
    if (work.graphNode != 0) {
        object.number("graph_node", static_cast<std::int64_t>(work.graphNode));
    }
    return object;
}

const char* memoryName(std::uint8_t kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
            return "pageable host";
        case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
            return "pinned host";
        case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
        case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
            return "device";
        case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
            return "array";
        case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
        case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
            return "managed";
        default:
            return "unknown";
    }
}

}  // namespace

std::string copyName(const CopyRecord& copy) {
    if (copy.peer) return "copy between devices";
    switch (copy.copyKind) {
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
            return "copy host to device";
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
            return "copy device to host";
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
            return "copy device to device";
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
            return "copy host to host";
        case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
            return "copy between devices";
        default:
            return "copy";
    }
}

std::string callName(const CallRecord& call) {
    if (const TracedCall* known = findCall(call.domain, call.id)) return known->name;
    return fmt::format("CUDA {} call {}",
                       call.domain == CallDomain::kRuntime ? "runtime" : "driver", call.id);
}

std::string syncName(const SyncRecord& sync) {
    switch (sync.type) {
        case SyncType::kEvent:
            return "wait for event";
        case SyncType::kStreamWait:
            return "stream waits for event";
        case SyncType::kStream:
            return "wait for stream";
        case SyncType::kContext:
            return "wait for device";
        case SyncType::kUnknown:
            break;
    }
    return "wait";
}

std::string overheadName(const OverheadRecord& overhead) {
    switch (overhead.kind) {
        case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
            return "compiling in the driver";
        case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
            return "flushing buffers";
        case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
            return "instrumentation";
        case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
            return "tracer resources";
        case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
            return "loading a module";
        case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
            return "loading a function";
        case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
            return "command buffer full";
        case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
            return "requesting a buffer";
        case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
            return "preparing managed memory";
        default:
            return "overhead";
    }
}

std::string kernelArguments(const KernelRecord& kernel, const KernelName& name,
                            std::string_view operatorName) {
    JsonObject object(operatorName);
    object.triple("grid", kernel.grid).triple("block", kernel.block);
    object.number("registers", kernel.registers).number("shared_bytes", kernel.sharedBytes);
    place(object, kernel.work);
    if (name.full != name.shown) object.text("kernel", name.full);
    return object.take();
}

std::string copyArguments(const CopyRecord& copy, std::string_view operatorName) {
    JsonObject object(operatorName);
    object.number("bytes", static_cast<std::int64_t>(copy.bytes));
    object.text("from", memoryName(copy.from)).text("to", memoryName(copy.to));
    if (copy.peer) {
        object.number("from_device", copy.fromDevice).number("to_device", copy.toDevice);
    }
    return place(object, copy.work).take();
}

std::string setArguments(const SetRecord& set, std::string_view operatorName) {
    JsonObject object(operatorName);
    object.number("bytes", static_cast<std::int64_t>(set.bytes));
    return place(object, set.work).take();
}

std::string graphArguments(const GraphRecord& graph, std::string_view operatorName) {
    JsonObject object(operatorName);
    object.number("graph", graph.graph);
    return place(object, graph.work).take();
}

std::string callArguments(const CallRecord& call, std::string_view operatorName) {
    JsonObject object(operatorName);
    if (call.result != 0) object.number("error", call.result);
    return object.take();
}

std::string syncArguments(const SyncRecord& sync, const EventRecord* recorded,
                          std::string_view operatorName) {
    JsonObject object(operatorName);
    if (sync.stream != kNone) object.number("stream", sync.stream);
    if (sync.event != kNone) object.number("event", sync.event);
    if (recorded != nullptr) object.number("recorded_on_stream", recorded->stream.stream);
    return object.take();
}

}  // namespace shardscope::collectors::cupti
