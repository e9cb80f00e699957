// Logits by chunks of rows, so that a step never holds (N, V) of them. Internal to engine/kernels.
#pragma once

#include "engine/kernels/device_operands.h"
#include "engine/kernels/note_tensor.h"
#include "engine/run/theory/head_chunk.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace shardscope::kernels {

/// Rows of x that are taken at once when each has `width` logits.
[[nodiscard]] inline std::int64_t logitRows(const at::Tensor& x, std::int64_t width) {
    return theory::logitBuffer(x.is_cuda(), x.size(0), width).rows;
}

/// Calls visit(begin, rows (n, C) of x from there on, room for their logits (n, width)); on a
/// device with gaps between the rows.
template <class Visit>
void forEachLogitChunk(const at::Tensor& x, std::int64_t width, const Visit& visit) {
    const auto [chunk, stride] = theory::logitBuffer(x.is_cuda(), x.size(0), width);
    const at::Tensor buffer = at::empty({chunk, stride}, x.options()).narrow(1, 0, width);
    for (std::int64_t begin = 0; begin < x.size(0); begin += chunk) {
        const std::int64_t count = std::min(chunk, x.size(0) - begin);
        visit(begin, x.narrow(0, begin, count), buffer.narrow(0, 0, count));
    }
}

/// As a device's kernels take them.
[[nodiscard]] inline DeviceLogits deviceLogits(const at::Tensor& logits) {
    return {dataTypeOf(logits.scalar_type()), logits.size(0), logits.size(1), logits.stride(0),
            logits.mutable_data_ptr()};
}

}  // namespace shardscope::kernels
