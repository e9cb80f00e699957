// What fake_cuda.cpp and fake_cuda_kernels.cpp share.
#pragma once

#include "engine/kernels/device_kernels.h"
#include "tests/engine/kernels_cuda/device_tally.h"

namespace shardscope::test {

struct FakeCudaState {
    bool compute = true;
    DeviceTally tally;
};
[[nodiscard]] FakeCudaState& fakeCudaState();

/// Counts, and runs the emulated kernels when computing.
[[nodiscard]] const kernels::DeviceKernels& countedKernels();

}  // namespace shardscope::test
