// How operators with a backward of their own remember parameters. Parameters outlive every graph
// (they belong to the model), so a graph may hold their addresses.
#pragma once

#include "engine/kernels/parameter.h"

#include <torch/csrc/autograd/custom_function.h>

namespace shardscope::kernels {

inline void keep(torch::autograd::AutogradContext* context, const char* key, Parameter* parameter) {
    context->saved_data[key] = reinterpret_cast<std::int64_t>(parameter);
}

/// Null when null was kept.
[[nodiscard]] inline Parameter* recall(torch::autograd::AutogradContext* context, const char* key) {
    return reinterpret_cast<Parameter*>(context->saved_data[key].toInt());
}

}  // namespace shardscope::kernels
