// Causal self-attention on packed q k v, by the faster of two ways.
//
// "flash": LibTorch's fused CPU kernel. "blocked": a few rows of the batch at a time, scores in
// cache, all products by batched oneDNN; it computes the masked half too, and is still the
// faster one where oneDNN is much faster than MKL and the context is short (measured at
// T 128 on one AVX-512 core). Neither keeps the (T, T) scores for backward.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

enum class AttentionKind : std::uint8_t { kFlash = 0, kBlocked = 1 };
[[nodiscard]] const char* toWord(AttentionKind kind);

/// Times forward and backward of both at these shapes; uses the matmul library in force.
[[nodiscard]] AttentionKind fasterAttention(std::int64_t rows, std::int64_t context,
                                            std::int64_t heads, std::int64_t headDim);
/// Chosen once before the first step.
void useAttention(AttentionKind kind);

/// qkv (N, 3C), the three side by side, N = rows x T, C = heads x D -> (N, C). Scale 1/sqrt(D).
at::Tensor causalAttention(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads);

}  // namespace shardscope::kernels
