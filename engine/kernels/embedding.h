// Token and position embeddings, forward and backward, on any device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

/// tokenTable (V, C), positionTable (>= T, C) or undefined, tokens (B, T) int64 -> (B T, C)
[[nodiscard]] at::Tensor embed(const at::Tensor& tokenTable, const at::Tensor& positionTable,
                               const at::Tensor& tokens);

/// The same with a table in pieces, which add up: x (B T, C) starts as positions or zeros, and each
/// piece adds its rows, [firstRow, firstRow + V'), to their tokens. table (V', C).
[[nodiscard]] at::Tensor positionsOf(const at::Tensor& positionTable, const at::Tensor& tokens,
                                     std::int64_t hidden, const at::TensorOptions& options);
void addRows(const at::Tensor& table, std::int64_t firstRow, const at::Tensor& tokens,
             const at::Tensor& x);

/// Adds the gradients dx (B T, C) of the tokens whose rows are in this piece of the table, or in
/// all of it: tokenGradient (V', C), which may be fp32 for a dx in half precision. And those of
/// positions, summed over rows of the batch, to positionGradient (>= T, C), which is undefined or
/// of the same type.
void addGradients(const at::Tensor& tokens, std::int64_t firstRow, const at::Tensor& dx,
                  const at::Tensor& tokenGradient, const at::Tensor& positionGradient = {});

}  // namespace shardscope::kernels
