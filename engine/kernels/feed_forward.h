// The feed-forward part of a block with its residual, one operator with a backward of its own:
//
//   stream + gelu(x Fcᵀ) Outᵀ          or          stream + (silu(x Gateᵀ) * x Fcᵀ) Outᵀ
//
// Kept for backward are x and the products before the nonlinearity; what came after it is made
// again beside its gradient, which costs nothing that is not needed anyway.
#pragma once

#include "engine/kernels/parameter.h"
#include "engine/kernels/tensor_group.h"

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace shardscope::kernels {

/// gate and fc (F, C), out (C, F); no gate: GELU.
struct FeedForward {
    Parameter* gate = nullptr;
    Parameter* fc = nullptr;
    Parameter* out = nullptr;
};

/// stream, x (N, C) -> (N, C), in `copy` where that is defined: the stream once more (norm.h). In
/// backward all values and gradients must be defined again. Where F is divided over a group, stream
/// and x are (n, C) and so is what it returns.
[[nodiscard]] at::Tensor feedForward(const at::Tensor& stream, const at::Tensor& x,
                                     const FeedForward& parameters, const at::Tensor& copy = {},
                                     TensorGroup* group = nullptr);

// The feed-forward part's nonlinearities, element by element, fp32 in plain memory, any thread.
// Backward recomputes the activation beside its gradient: what is costly is common to both, and
// so only the inputs need to be kept.

/// y = x P(Z <= x), the exact GELU (Hendrycks & Gimpel, arXiv 1606.08415).
void gelu(const float* x, float* y, std::size_t n);
/// y as above, and d: gradients of y in, of x out.
void geluBackward(const float* x, float* y, float* d, std::size_t n);

/// y = silu(gate) x, silu(g) = g / (1 + e^-g) (SwiGLU: Shazeer, arXiv 2002.05202).
void siluGate(const float* gate, const float* x, float* y, std::size_t n);
/// y as above; d: gradients of y in, of x out; dGate: of the gate.
void siluGateBackward(const float* gate, const float* x, float* y, float* d, float* dGate,
                      std::size_t n);

}  // namespace shardscope::kernels
