// The feed-forward part of a block with its residual, one operator with a backward of its own:
//
//   stream + gelu(x Fcᵀ) Outᵀ          or          stream + (silu(x Gateᵀ) * x Fcᵀ) Outᵀ
//
// Kept for backward are x and the products before the nonlinearity; what came after it is made
// again beside its gradient, which costs nothing that is not needed anyway.
#pragma once

#include "engine/kernels/parameter.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// gate and fc (F, C), out (C, F); no gate: GELU.
struct FeedForward {
    Parameter* gate = nullptr;
    Parameter* fc = nullptr;
    Parameter* out = nullptr;
};

/// stream, x (N, C) -> (N, C), in `copy` where that is defined: the stream once more (norm.h). In
/// backward all values and gradients must be defined again.
[[nodiscard]] at::Tensor feedForward(const at::Tensor& stream, const at::Tensor& x,
                                     const FeedForward& parameters, const at::Tensor& copy = {});

}  // namespace shardscope::kernels
