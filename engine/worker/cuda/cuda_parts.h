// What the CUDA module's table is made of; each is defined in the source named for it.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/worker/cuda_module.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::worker {

/// What devices and libraries there are, without creating a context. Works without a driver.
[[nodiscard]] CudaProbe probeCuda();

/// DeviceRuntime over the CUDA runtime and LibTorch's caching allocator: makes device `index` the
/// process's and creates its context. Once per process: later calls return the same, and throw when
/// another index is asked for. Throws control::DeviceError.
[[nodiscard]] control::DeviceRuntime& openCudaDevice(std::int32_t index);

/// Reports what LibTorch's caching allocator does to `hook`. After the device was opened; cannot be
/// undone. A second hook replaces the first.
void traceCudaAllocations(collectors::DeviceAllocationHook hook);

/// The matmul rate that this device reaches, the denominator of MAMF; as CudaModule::measureMatmul.
/// On the calling thread's device and current stream.
[[nodiscard]] double measureCudaMatmul(std::int64_t m, std::int64_t n, std::int64_t k,
                                       DataType dtype, bool tf32, double seconds);

}  // namespace shardscope::worker
