// Tells the precision report of a tensor.
#pragma once

#include "engine/control/precision_probe.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

[[nodiscard]] inline DataType dataTypeOf(at::ScalarType type) {
    switch (type) {
        case at::kBFloat16:
            return DataType::kBFloat16;
        case at::kHalf:
            return DataType::kFloat16;
        case at::kDouble:
            return DataType::kFloat64;
        case at::kLong:
            return DataType::kInt64;
        case at::kByte:
            return DataType::kByte;
        default:
            return DataType::kFloat32;
    }
}

inline void note(control::TensorRole role, const at::Tensor& tensor, const char* where) {
    if (control::threadPrecisionProbe() == nullptr || !tensor.defined()) return;
    control::notePrecision(role, dataTypeOf(tensor.scalar_type()), where);
}

}  // namespace shardscope::kernels
