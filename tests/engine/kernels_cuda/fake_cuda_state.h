// What fake_cuda.cpp and fake_cuda_kernels.cpp share.
#pragma once

#include "engine/kernels/device_kernels.h"
#include "tests/engine/kernels_cuda/device_tally.h"
#include "tests/engine/kernels_cuda/fake_cuda.h"

#include <functional>
#include <utility>

namespace shardscope::test {

struct FakeCudaState {
    bool compute = true;
    DeviceTally tally;
    FakeCudaStream* stream = nullptr;  ///< null: everything is done at once

    [[nodiscard]] bool captures() const { return stream != nullptr && stream->captures(); }
    /// Behind what was queued; inside a capture at each launch.
    void launch(std::function<void()> work) const {
        if (captures()) return stream->queue(std::move(work));
        if (stream != nullptr) stream->drain();
        work();
    }
};
[[nodiscard]] FakeCudaState& fakeCudaState();

/// Counts, and runs the emulated kernels when computing.
[[nodiscard]] const kernels::DeviceKernels& countedKernels();

}  // namespace shardscope::test
