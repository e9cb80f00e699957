// The head in one pass: linear layer, softmax and cross entropy by chunks of rows, with
// all gradients, never holding the full (N, V) logits.
#pragma once

#include "engine/kernels/parameter.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// x (N, C), weight (V, C), targets (N) int64. Adds the sum over rows of the cross entropy in nats
/// to `loss`, () float64 on x's device, without waiting for the device. When `dx` is defined, dx
/// (N, C) and weight.gradient receive the gradients of scale * sum (weight.gradient is added to
/// when weight.accumulate). Gradients of logits are taken in fp32 and rounded to x's type once, so
/// that in fp16 they overflow only where scale itself is beyond 65,504, and then to infinity.
void linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        double scale, const at::Tensor& dx, const at::Tensor& loss);

// The head over pieces of the vocabulary that are not there at the same time: a first pass over the
// pieces sums up each row's softmax, a second one computes the logits again and turns them into
// gradients. One product more than linearCrossEntropy(), and never more than a piece of the weight.

/// Of N rows before the first piece: (N, 3) fp32, a RowStatistics each.
[[nodiscard]] at::Tensor emptyStatistics(const at::Tensor& x);

/// x (N, C), weight (V', C) the rows of the head from weight.firstRow on, targets (N) int64 of the
/// whole vocabulary.
void addPieceStatistics(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        const at::Tensor& statistics);

/// Adds the cross entropies of all rows in nats to `loss`, () float64 on the device.
void addLoss(const at::Tensor& statistics, const at::Tensor& loss);

/// With the statistics of all pieces: the gradients of scale * the sum of cross entropies.
/// weight.gradient receives its own (is added to when weight.accumulate); dx (N, C) is added to
/// unless this is the `first` piece.
void addPieceGradients(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                       const at::Tensor& statistics, double scale, const at::Tensor& dx,
                       bool first);

}  // namespace shardscope::kernels
