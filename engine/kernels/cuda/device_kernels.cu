#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/kernels/cuda/cuda_launch.cuh"
#include "engine/kernels/cuda/device_table.cuh"

namespace shardscope::kernels {
namespace device {

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

}  // namespace device

const DeviceKernels& cudaKernels() {
    return device::kTable;
}

}  // namespace shardscope::kernels
