// Queries, keys and values between the packed form that linear layers make and the one that
// attention reads, and rotary position embedding on the way.
//
// Rotary embedding (Su et al., arXiv 2104.09864): pair i of a head's D numbers is turned by
// position * 10,000^(-2i / D). Pairs are (i, i + D/2), the halves of a head, as in GPT-NeoX and in
// Hugging Face's Llama (`rotate_half`); the paper's neighbouring pairs are the same model with the
// rows of the weights in another order. Angles are taken in double precision, kept in fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

inline constexpr double kRotaryBase = 10'000;

/// (context, 2, D/2) fp32: cosines and sines by position. D even.
[[nodiscard]] at::Tensor rotaryTable(std::int64_t context, std::int64_t headDim);

/// qkv (N, 3C) packed, N = rows * T -> (3, B, H, T, D) contiguous; with a defined `rotary` of T or
/// more positions q and k are rotated. CPU.
[[nodiscard]] at::Tensor unpackHeads(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                                     const at::Tensor& rotary);
/// The gradient of that: dq, dk, dv (B, H, T, D), the last dim contiguous -> (N, 3C).
[[nodiscard]] at::Tensor packHeads(const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv,
                                   const at::Tensor& rotary);

/// (B, H, T, D) -> (B T, C) and back, (N, C) -> (B, H, T, D) contiguous. CPU.
[[nodiscard]] at::Tensor mergeHeads(const at::Tensor& t);
[[nodiscard]] at::Tensor splitHeads(const at::Tensor& t, std::int64_t rows, std::int64_t heads);

/// x (B, H, T, D) rotated, or rotated back: by LibTorch's differentiable operators, on any device
/// and in any type; products are taken in fp32.
[[nodiscard]] at::Tensor rotated(const at::Tensor& x, const at::Tensor& rotary, bool back = false);

}  // namespace shardscope::kernels
