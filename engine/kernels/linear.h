// y = x Wᵀ with the weight's gradient written straight to where it is reduced from.
#pragma once

#include "engine/kernels/parameter.h"
#include "engine/kernels/tensor_group.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// x (N, in) contiguous, weight (out, in) -> (N, out). In backward weight.value and
/// weight.gradient must be defined again; weight.gradient receives dyᵀ x.
at::Tensor linear(const at::Tensor& x, Parameter& weight);

/// The same where the weight is divided over a group, null: not. By its outputs: x (n, in) ->
/// (N, out / T); by its inputs: x (N, in / T) -> (n, out), a sum that the next operator takes.
at::Tensor linearByOutputs(const at::Tensor& x, Parameter& weight, TensorGroup* group);
at::Tensor linearByInputs(const at::Tensor& x, Parameter& weight, TensorGroup* group);

/// parameter.gradient (+)= gradient, in the type that it is kept in.
void storeGradient(const at::Tensor& gradient, Parameter& parameter);

}  // namespace shardscope::kernels
