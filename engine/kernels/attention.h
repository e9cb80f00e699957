// Causal self-attention on packed q k v, by the faster of two ways.
//
// "flash": LibTorch's fused CPU kernel. "blocked": a few rows of the batch at a time, scores in
// cache, all products by batched oneDNN; it computes the masked half too, and is still the
// faster one where oneDNN is much faster than MKL and the context is short (measured at
// T 128 on one AVX-512 core; fp32 only). Neither keeps the (T, T) scores for backward.
//
// On a GPU: LibTorch's scaled_dot_product_attention, by cuDNN or FlashAttention-2.
#pragma once

#include "storage/model/words.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

enum class AttentionKind : std::uint8_t { kFlash = 0, kBlocked = 1 };
constexpr auto wordsOf(AttentionKind) {
    return wordList<Word<AttentionKind>>(
        {{AttentionKind::kFlash, "flash"}, {AttentionKind::kBlocked, "blocked"}});
}

/// Time of forward and backward at these shapes, blocked over flash, by the matmul library in
/// force.
[[nodiscard]] double blockedOverFlash(std::int64_t rows, std::int64_t context, std::int64_t heads,
                                      std::int64_t headDim);
/// Chosen once before the first step.
void useAttention(AttentionKind kind);
[[nodiscard]] AttentionKind attentionInUse();

enum class DeviceAttention : std::uint8_t { kCudnn = 0, kFlash2 = 1 };
/// Which of the two LibTorch is to prefer on a GPU.
void useDeviceAttention(DeviceAttention kind);
/// What LibTorch takes for these shapes and types, e.g. "cudnn", "flash"; "math" is the slow way.
[[nodiscard]] const char* deviceAttentionInUse(const at::Tensor& qkv, std::int64_t rows,
                                               std::int64_t heads);

/// qkv (N, 3C), the three side by side, N = rows x T, C = heads x D -> (N, C). Scale 1/sqrt(D).
/// A defined `rotary` (heads.h), of T or more positions and on qkv's device, rotates queries and
/// keys before.
at::Tensor causalAttention(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                           const at::Tensor& rotary = {});
/// The same through LibTorch's differentiable operators, on any device.
at::Tensor dispatchedAttention(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                               const at::Tensor& rotary = {});

}  // namespace shardscope::kernels
