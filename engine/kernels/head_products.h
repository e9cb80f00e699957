// The three products over a vocabulary. Internal to engine/kernels.
//
// cuBLAS's fast kernels move 16 bytes at a time and so take sides that are multiples of 8 only; of
// GPT-2's 50,257 logits it makes 7 to 8 times slower ones (H200, bf16, 2,048 x 1,024 x 50,257:
// 2.2 and 1.7 ms against 0.28 and 0.23). So where rows of logits have gaps, as they do on a device
// when their number is not such a multiple, the aligned columns are a product, and the few behind
// another.
#pragma once

#include "engine/kernels/device_operands.h"
#include "engine/kernels/operator_scope.h"
#include "engine/run/theory/working_sizes.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace shardscope::kernels {

/// logits (n, V) = x (n, C) weight (V, C)^T.
void productOfLogits(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& logits);

/// dx (n, C) = d (n, V) weight (V, C) (+ dx when accumulate), d the gradients of logits.
void productOfInputs(const at::Tensor& d, const at::Tensor& weight, const at::Tensor& dx,
                     bool accumulate);

/// dWeight (V, C) = d (n, V)^T x (n, C) (+ dWeight when accumulate).
void productOfWeights(const at::Tensor& d, const at::Tensor& x, const at::Tensor& dWeight,
                      bool accumulate);

// Logits by chunks of rows, so that a step never holds (N, V) of them. Internal to engine/kernels.

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
