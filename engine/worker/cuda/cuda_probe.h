// What devices and libraries there are, without creating a context. Works without a driver.
#pragma once

#include "engine/worker/cuda_module.h"

namespace shardscope::worker {

[[nodiscard]] CudaProbe probeCuda();

}  // namespace shardscope::worker
