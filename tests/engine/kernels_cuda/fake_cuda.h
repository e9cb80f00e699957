// LibTorch's CUDA backend in host memory, so that the engine's device path runs, and is counted,
// where there is no GPU: tensors on at::kCUDA, every operator that reaches that backend, and the
// table of our kernels, run by cuda_emulation.h.
//
// A test program that links this has the backend from its start; it must not load libtorch_cuda.
// One thread at a time.
#pragma once

#include "tests/engine/kernels_cuda/device_tally.h"

#include <ATen/core/Tensor.h>

#include <functional>

namespace shardscope::test {

/// Where operators go that are not done at once.
class FakeCudaStream {
public:
    virtual ~FakeCudaStream() = default;
    [[nodiscard]] virtual bool captures() = 0;
    virtual void queue(std::function<void()> work) = 0;
    /// Until what was queued is done.
    virtual void drain() = 0;
};

/// Installs our kernels for as long as it lives.
class FakeCuda {
public:
    /// Without `compute` nothing is read or written: memory costs nothing, and models of any size
    /// can be counted.
    explicit FakeCuda(bool compute);
    /// With `stream`, which outlives this, operators come after what it holds. While it captures,
    /// they are kept for its graph: what they would write stays as it was, or is garbage, until the
    /// graph is launched. Memory of the host is refused there.
    FakeCuda(bool compute, FakeCudaStream& stream);
    ~FakeCuda();
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    /// Since it was last asked for.
    [[nodiscard]] DeviceTally take();
};

/// Uninitialised.
[[nodiscard]] at::Tensor fakeCudaTensor(at::IntArrayRef sizes, at::ScalarType type);

}  // namespace shardscope::test
