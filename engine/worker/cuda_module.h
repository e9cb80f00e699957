// What libshardscope_cuda.so offers to shardscope-rank: one exported function that returns this
// table. Everything that names CUDA, CUPTI or NCCL is on the other side of it.
//
// Only plain functions, virtual interfaces and inline types cross the border: the module links
// no library of ours that the program links too. Both sides come from one build; kVersion and
// the build's commit are compared on loading.
#pragma once

#include "engine/comm/nccl/nccl_api.h"
#include "engine/control/device_runtime.h"
#include "engine/kernels/device_kernels.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/cupti/device_collector.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::worker {

struct DeviceProperties {
    std::string name;      ///< "NVIDIA H200"
    std::string pciBusId;  ///< "0000:17:00.0", to find the device in NVML
    std::string uuid;      ///< "GPU-..."
    std::int64_t memoryBytes = 0;
    std::int32_t multiprocessors = 0;
    std::int32_t major = 0;  ///< compute capability
    std::int32_t minor = 0;
};

/// What is there, found without creating a context.
struct CudaProbe {
    std::int32_t deviceError = 0;  ///< cudaGetDeviceCount's code; 35: driver missing or too old
    std::string deviceErrorText;
    std::int32_t driverVersion = 0;   ///< of libcuda: 13000 for 13.0; 0: none
    std::int32_t runtimeVersion = 0;  ///< of libcudart
    std::uint32_t cuptiVersion = 0;   ///< 130001
    std::int32_t ncclVersion = 0;     ///< 22809
    std::vector<DeviceProperties> devices;
};

struct CudaModule {
    static constexpr std::int32_t kVersion = 5;
    std::int32_t version = kVersion;
    /// LibTorch's name for where tensors go; a fake module's device is host memory: "cpu".
    const char* tensorDevice = "cuda";

    CudaProbe (*probe)();

    /// Starts tracing; before the first CUDA call of the process. `sink` outlives the collector.
    collectors::DeviceCollectorStart (*startTracing)(capture::DeviceLevel level,
                                                     capture::DeviceSink& sink);

    /// Makes device `index` the calling thread's and the process's; creates the context.
    /// Throws control::DeviceError.
    control::DeviceRuntime& (*openDevice)(std::int32_t index);

    const comm::NcclApi* nccl = nullptr;
    const kernels::DeviceKernels* kernels = nullptr;

    /// Once, after openDevice(): cannot be undone, so `hook` must stay valid.
    void (*traceAllocations)(collectors::DeviceAllocationHook hook);

    /// Best rate in FLOP/s of (m, k) x (k, n) products of random data in `dtype`, over about
    /// `seconds`; TF32 decides for fp32.
    double (*measureMatmul)(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype,
                            bool tf32, double seconds);
};

inline constexpr const char* kCudaModuleSymbol = "shardscopeCudaModule";
using CudaModuleFunction = const CudaModule* (*)();

}  // namespace shardscope::worker
