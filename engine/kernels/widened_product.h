// Products of bf16 and fp16 on CPUs that are slow in them: operands are widened block by block and
// multiplied in fp32. Works everywhere, at little more than the time of an fp32 product.
#pragma once

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// out = a b (+ out when accumulate). a (m, k), b (k, n) of bf16 or fp16, contiguous or transposed;
/// out (m, n) of any type. Sums are taken in fp32 and rounded once. Its workspace, 2 MB a thread
/// that calls it, is no tensor's.
void widenedProduct(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                    bool accumulate);

}  // namespace shardscope::kernels
