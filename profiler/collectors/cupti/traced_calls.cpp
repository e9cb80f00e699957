#include "profiler/collectors/cupti/traced_calls.h"

#include <cupti.h>

#include <algorithm>
#include <string_view>

namespace shardscope::collectors::cupti {
namespace {

using capture::DeviceLevel;

constexpr auto kRuntime = CallDomain::kRuntime;
constexpr auto kDriver = CallDomain::kDriver;

}  // namespace

// Each with its variant for per-thread default streams. cudaLaunchKernel also covers the stubs
// of nvcc 13 (__cudaLaunchKernel jumps there); NCCL and cuDNN launch through the driver.
const std::vector<TracedCall>& tracedCalls() {
    static const std::vector<TracedCall> calls = {
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, "cudaLaunchKernel"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, "cudaLaunchKernelExC"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060, "cudaLaunchKernelExC"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
         "cudaLaunchCooperativeKernel"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
         "cudaLaunchCooperativeKernel"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000, "cudaGraphLaunch"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, "cudaMemcpy"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000, "cudaMemcpy"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000, "cudaMemcpyAsync"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000, "cudaMemsetAsync"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, "cuLaunchKernelEx"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch"},
        {kDriver, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch"},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, "cudaStreamSynchronize",
         false},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
         "cudaStreamSynchronize", false},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, "cudaEventSynchronize",
         false},
        {kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize",
         false},
    };
    return calls;
}

const TracedCall* findCall(CallDomain domain, std::uint32_t id) {
    const auto& calls = tracedCalls();
    const auto found = std::find_if(calls.begin(), calls.end(), [&](const TracedCall& call) {
        return call.domain == domain && call.id == id;
    });
    return found == calls.end() ? nullptr : &*found;
}

bool launchesKernel(const TracedCall& call) {
    const std::string_view name = call.name;
    return name.starts_with("cudaLaunch") || name.starts_with("cuLaunch");
}

bool tracedAt(const TracedCall& call, DeviceLevel level) {
    return level >= (call.launches ? DeviceLevel::kLaunches : DeviceLevel::kFull);
}

// KERNEL is never among them: unlike CONCURRENT_KERNEL it serialises all kernels.
std::vector<std::uint32_t> kindsAt(DeviceLevel level, bool graphNodes) {
    std::vector<std::uint32_t> kinds;
    if (level >= DeviceLevel::kKernels) {
        kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                 CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                 CUPTI_ACTIVITY_KIND_OVERHEAD};
        if (!graphNodes) kinds.push_back(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    }
    if (level >= DeviceLevel::kLaunches) {
        kinds.push_back(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        kinds.push_back(CUPTI_ACTIVITY_KIND_MEMORY2);
    }
    if (level >= DeviceLevel::kFull) {
        kinds.push_back(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
        kinds.push_back(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    }
    return kinds;
}

std::string kindName(std::uint32_t kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            return "kernels";
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return "copies";
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return "copies between devices";
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return "memory sets";
        case CUPTI_ACTIVITY_KIND_OVERHEAD:
            return "the tracer's own overhead";
        case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
            return "CUDA graphs";
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
            return "operators of launches";
        case CUPTI_ACTIVITY_KIND_MEMORY2:
            return "driver allocations";
        case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
            return "synchronisation";
        case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
            return "CUDA events";
        default:
            return "activity kind " + std::to_string(kind);
    }
}

std::uint32_t kernelKind() {
    return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

std::uint32_t externalKind(capture::AnnotationStack stack) {
    return stack == capture::AnnotationStack::kContext ? CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
                                                       : CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;
}

}  // namespace shardscope::collectors::cupti
