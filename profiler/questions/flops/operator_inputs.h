// What a recording says of an operator's inputs, in whichever words. Internal to
// profiler/questions.
#pragma once

#include "profiler/analysis/device/operator_flops.h"

#include <string_view>

namespace shardscope::questions {

/// Of the arguments of a span: PyTorch's profiler has "Input Dims", "Input type" and "Concrete
/// Inputs" where recordings of ours have "shapes", "dtypes" and "lists". Nothing of what they do
/// not say.
[[nodiscard]] analysis::OperatorInputs operatorInputs(std::string_view arguments);

}  // namespace shardscope::questions
