// How device_table.cuh reaches a device.
#pragma once

#include "engine/kernels/cuda/cuda_error.h"
#include "engine/kernels/cuda/launch_limits.h"

#include <cuda_runtime.h>

#include <type_traits>

namespace shardscope::kernels::device {

/// Of the current device; asked once a process.
LaunchLimits launchLimits();

/// Queues the kernel; the arguments are copied. `stream` is a cudaStream_t.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), Grid grid, void* stream,
            std::type_identity_t<Parameters>... arguments) {
    void* pointers[] = {&arguments...};
    check(cudaLaunchKernel(kernel, dim3(grid.blocks), dim3(grid.threads), pointers, 0,
                           static_cast<cudaStream_t>(stream)),
          "launching a kernel of ours");
}

}  // namespace shardscope::kernels::device
