// The three products over a vocabulary. Internal to engine/kernels.
//
// cuBLAS's fast kernels move 16 bytes at a time and so take sides that are multiples of 8 only; of
// GPT-2's 50,257 logits it makes 7 to 8 times slower ones (H200, bf16, 2,048 x 1,024 x 50,257:
// 2.2 and 1.7 ms against 0.28 and 0.23). So where rows of logits have gaps, as they do on a device
// when their number is not such a multiple, the aligned columns are a product, and the few behind
// another.
#pragma once

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// logits (n, V) = x (n, C) weight (V, C)^T.
void productOfLogits(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& logits);

/// dx (n, C) = d (n, V) weight (V, C) (+ dx when accumulate), d the gradients of logits.
void productOfInputs(const at::Tensor& d, const at::Tensor& weight, const at::Tensor& dx,
                     bool accumulate);

/// dWeight (V, C) = d (n, V)^T x (n, C) (+ dWeight when accumulate).
void productOfWeights(const at::Tensor& d, const at::Tensor& x, const at::Tensor& dWeight,
                      bool accumulate);

}  // namespace shardscope::kernels
