// y = x Wᵀ with the weight's gradient written straight to where it is reduced from.
#pragma once

#include "engine/kernels/parameter.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// x (N, in) contiguous, weight (out, in) -> (N, out). In backward weight.value and
/// weight.gradient must be defined again; weight.gradient receives dyᵀ x.
at::Tensor linear(const at::Tensor& x, Parameter& weight);

/// parameter.gradient (+)= gradient, in the type that it is kept in.
void storeGradient(const at::Tensor& gradient, Parameter& parameter);

}  // namespace shardscope::kernels
