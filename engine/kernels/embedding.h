// Token and position embeddings, forward and backward, on any device.
#pragma once

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// tokenTable (V, C), positionTable (>= T, C) or undefined, tokens (B, T) int64 -> (B T, C)
[[nodiscard]] at::Tensor embed(const at::Tensor& tokenTable, const at::Tensor& positionTable,
                               const at::Tensor& tokens);

/// Adds the gradients dx (B T, C) of embed() to those of both tables, which may be fp32 for a dx
/// in half precision; an undefined position gradient is passed over.
void addEmbeddingGradients(const at::Tensor& tokens, const at::Tensor& dx,
                           const at::Tensor& tokenGradient, const at::Tensor& positionGradient);

}  // namespace shardscope::kernels
