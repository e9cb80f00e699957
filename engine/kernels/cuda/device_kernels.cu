#include "engine/kernels/cuda/cuda_error.h"
#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/kernels/cuda/launch_limits.h"

#include <cuda_runtime.h>

#include <type_traits>

namespace shardscope::kernels::device {

/// Of the current device; asked once per process.
LaunchLimits launchLimits() {
    static const LaunchLimits limits = [] {
        int index = 0;
        int multiprocessors = 0;
        check(cudaGetDevice(&index), "asking for the current device");
        check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, index),
              "counting multiprocessors");
        return LaunchLimits{static_cast<unsigned>(multiprocessors), 1024};
    }();
    return limits;
}

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

// After launch() and launchLimits(), by which it reaches the device.
#include "engine/kernels/cuda/device_table.cuh"

namespace shardscope::kernels {

const DeviceKernels& cudaKernels() {
    return device::kTable;
}

}  // namespace shardscope::kernels
