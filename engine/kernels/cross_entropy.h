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

}  // namespace shardscope::kernels
