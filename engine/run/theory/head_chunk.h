// How many logits the fused head holds at a time: its kernels work by it, memory theory counts it.
#pragma once

#include "engine/run/config/vocabulary_pieces.h"

#include <algorithm>
#include <cstdint>

namespace shardscope::theory {

/// 8 MiB of fp32, so that they stay near the core.
inline constexpr std::int64_t kHostLogitChunk = std::int64_t{2} << 20;
/// 256 MiB of bf16: enough rows to fill a GPU.
inline constexpr std::int64_t kDeviceLogitChunk = std::int64_t{128} << 20;

struct LogitBuffer {
    std::int64_t rows = 0;
    std::int64_t stride = 0;  ///< elements from row to row
};

/// For `tokens` rows of `width` logits. On a GPU rows are padded so that each begins where cuBLAS's
/// 16-byte kernels take it; GPT-2's 50,257 logits leave every row but the first at an odd address.
[[nodiscard]] constexpr LogitBuffer logitBuffer(bool device, std::int64_t tokens,
                                                std::int64_t width) {
    const std::int64_t stride = device ? run::alignedColumns(width) : width;
    const std::int64_t most = device ? kDeviceLogitChunk : kHostLogitChunk;
    return {std::clamp<std::int64_t>(most / stride, 1, tokens), stride};
}

}  // namespace shardscope::theory
