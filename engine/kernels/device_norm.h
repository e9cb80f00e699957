// The norms of norm.h by the device's own kernels; internal to it.
#pragma once

#include "engine/kernels/norm.h"

namespace shardscope::kernels {

/// x, delta (N, C) contiguous on a device; `copy`, where defined, receives the sum once more.
[[nodiscard]] NormState normForwardOnDevice(const at::Tensor& x, const at::Tensor& delta,
                                            const Norm& parameters, const at::Tensor& copy);
/// dy, skip (N, C) contiguous. Stores the parameters' gradients.
[[nodiscard]] at::Tensor normBackwardOnDevice(const at::Tensor& dy, const at::Tensor& skip,
                                              const NormState& state, const Norm& parameters);

}  // namespace shardscope::kernels
