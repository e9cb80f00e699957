// The head in one pass: linear layer, softmax and cross entropy by chunks of rows, with
// all gradients, never holding the full (N, V) logits.
#pragma once

#include "engine/kernels/device_operands.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/parameter.h"
#include "engine/kernels/tensor_group.h"
#include "engine/run/theory/working_sizes.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

namespace shardscope::kernels {

/// x (N, C), weight (V, C), targets (N) int64. Adds the sum over rows of the cross entropy in nats
/// to `loss`, () float64 on x's device, without waiting for the device. When `dx` is defined, dx
/// (N, C) and weight.gradient receive the gradients of scale * sum (weight.gradient is added to
/// when weight.accumulate). Gradients of logits are taken in fp32 and rounded to x's type once, so
/// that in fp16 they overflow only where scale itself is beyond 65,504, and then to infinity.
void linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        double scale, const at::Tensor& dx, const at::Tensor& loss);

/// The same where the vocabulary is divided over a group: weight (V', C) holds the rows from
/// weight.firstRow on, no rank more than the first. Each rank's softmax is known of its own columns
/// and summed up chunk by chunk (Shoeybi et al., arXiv 1909.08053). dx is a partial gradient; the
/// first rank alone adds to `loss`.
void dividedCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                         double scale, const at::Tensor& dx, const at::Tensor& loss,
                         TensorGroup& group);

// The head over pieces of the vocabulary that are not there at the same time: a first pass over the
// pieces sums up each row's softmax, a second one computes the logits again and turns them into
// gradients. One product more than linearCrossEntropy(), and never more than a piece of the weight.

/// Of N rows before the first piece: (N, 3) fp32, a RowStatistics each.
[[nodiscard]] at::Tensor emptyStatistics(const at::Tensor& x);

/// x (N, C), weight (V', C) the rows of the head from weight.firstRow on, targets (N) int64 of the
/// whole vocabulary.
void addPieceStatistics(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        const at::Tensor& statistics);

/// Statistics of every rank's pieces become those of all of them.
void joinStatistics(const at::Tensor& statistics, TensorGroup& group);

/// Adds the cross entropies of all rows in nats to `loss`, () float64 on the device.
void addLoss(const at::Tensor& statistics, const at::Tensor& loss);

/// With the statistics of all pieces: the gradients of scale * the sum of cross entropies.
/// weight.gradient receives its own (is added to when weight.accumulate); dx (N, C) is added to
/// unless this is the `first` piece.
void addPieceGradients(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                       const at::Tensor& statistics, double scale, const at::Tensor& dx,
                       bool first);

// The three products over a vocabulary. Internal to engine/kernels.
//
// cuBLAS's fast kernels move 16 bytes at a time and so take sides that are multiples of 8 only; of
// GPT-2's 50,257 logits it makes 7 to 8 times slower ones (H200, bf16, 2,048 x 1,024 x 50,257:
// 2.2 and 1.7 ms against 0.28 and 0.23). So where rows of logits have gaps, as they do on a device
// when their number is not such a multiple, the aligned columns are a product, and the few behind
// another.

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
/// device with gaps between the rows. Chunks are those of `most` logits a row.
template <class Visit>
void forEachLogitChunk(const at::Tensor& x, std::int64_t width, std::int64_t most,
                       const Visit& visit) {
    const auto [chunk, stride] = theory::logitBuffer(x.is_cuda(), x.size(0), most);
    const at::Tensor buffer = at::empty({chunk, stride}, x.options()).narrow(1, 0, width);
    for (std::int64_t begin = 0; begin < x.size(0); begin += chunk) {
        const std::int64_t count = std::min(chunk, x.size(0) - begin);
        visit(begin, x.narrow(0, begin, count), buffer.narrow(0, 0, count));
    }
}

template <class Visit>
void forEachLogitChunk(const at::Tensor& x, std::int64_t width, const Visit& visit) {
    forEachLogitChunk(x, width, width, visit);
}

/// As a device's kernels take them.
[[nodiscard]] inline DeviceLogits deviceLogits(const at::Tensor& logits) {
    return {dataTypeOf(logits.scalar_type()), logits.size(0), logits.size(1), logits.stride(0),
            logits.mutable_data_ptr()};
}

}  // namespace shardscope::kernels
