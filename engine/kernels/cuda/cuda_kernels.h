// Our kernels compiled for CUDA. Linked into the CUDA module only.
#pragma once

#include "engine/kernels/device_kernels.h"

namespace shardscope::kernels {

[[nodiscard]] const DeviceKernels& cudaKernels();

}  // namespace shardscope::kernels
