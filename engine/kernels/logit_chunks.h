// Logits by chunks of rows, so that a step never holds (N, V) of them. Internal to engine/kernels.
#pragma once

#include "engine/run/theory/head_chunk.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace shardscope::kernels {

/// Rows of x that are taken at once when each has `width` logits.
[[nodiscard]] inline std::int64_t logitRows(const at::Tensor& x, std::int64_t width) {
    const std::int64_t most = x.is_cuda() ? theory::kDeviceLogitChunk : theory::kHostLogitChunk;
    return std::clamp<std::int64_t>(most / width, 1, x.size(0));
}

/// Calls visit(begin, rows (n, C) of x from there on, room for their logits (n, width)).
template <class Visit>
void forEachLogitChunk(const at::Tensor& x, std::int64_t width, const Visit& visit) {
    const std::int64_t chunk = logitRows(x, width);
    const at::Tensor buffer = at::empty({chunk, width}, x.options());
    for (std::int64_t begin = 0; begin < x.size(0); begin += chunk) {
        const std::int64_t count = std::min(chunk, x.size(0) - begin);
        visit(begin, x.narrow(0, begin, count), buffer.narrow(0, 0, count));
    }
}

}  // namespace shardscope::kernels
