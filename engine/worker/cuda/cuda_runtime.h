// DeviceRuntime over the CUDA runtime and LibTorch's caching allocator.
#pragma once

#include "engine/control/device_runtime.h"

namespace shardscope::worker {

/// Makes device `index` the process's and creates its context. Once a process: later calls
/// return the same, and throw when another index is asked for. Throws control::DeviceError.
[[nodiscard]] control::DeviceRuntime& openCudaDevice(std::int32_t index);

}  // namespace shardscope::worker
