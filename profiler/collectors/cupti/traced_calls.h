// What is asked of CUPTI at each level.
//
// Only calls that launch work, and at the full level those that wait, are traced: tracing all
// of the runtime's chatty getters is what makes CUPTI expensive in LibTorch programs.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/cupti_api.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::collectors::cupti {

struct TracedCall {
    CallDomain domain = CallDomain::kRuntime;
    std::uint32_t id = 0;
    const char* name = "";
    bool launches = true;  ///< work for the device; otherwise it waits
};

[[nodiscard]] const std::vector<TracedCall>& tracedCalls();
/// Null: not one of them.
[[nodiscard]] const TracedCall* findCall(CallDomain domain, std::uint32_t id);
/// Whether a successful call puts one kernel onto a stream (copies, sets and graphs do not).
[[nodiscard]] bool launchesKernel(const TracedCall& call);
[[nodiscard]] bool tracedAt(const TracedCall& call, capture::DeviceLevel level);

/// CUPTI activity kinds. `graphNodes`: each node of a CUDA graph, else one record a launch.
[[nodiscard]] std::vector<std::uint32_t> kindsAt(capture::DeviceLevel level, bool graphNodes);
[[nodiscard]] std::string kindName(std::uint32_t kind);
[[nodiscard]] std::uint32_t kernelKind();
[[nodiscard]] std::uint32_t externalKind(capture::AnnotationStack stack);

}  // namespace shardscope::collectors::cupti
