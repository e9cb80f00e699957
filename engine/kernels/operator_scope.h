// What operators of ours have in common beside their arithmetic: they appear to observers under a
// plain name, report their tensors' precision, go to the stream of the calling thread, and remember
// parameters for their backward.
#pragma once

#include "engine/control/precision_probe.h"
#include "engine/kernels/parameter.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>

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

/// Reports the tensor's precision, where a report is made.
inline void note(control::TensorRole role, const at::Tensor& tensor, const char* where) {
    if (control::threadPrecisionProbe() == nullptr || !tensor.defined()) return;
    control::notePrecision(role, dataTypeOf(tensor.scalar_type()), where);
}

/// Makes an operator visible to RecordFunction observers under a plain name, with the autograd
/// sequence number that links a forward operator to its backward node.
class OperatorScope {
public:
    /// `name` is a static string. Forward operators that create an autograd node right after
    /// pass linked = true: the node gets the number peeked here.
    explicit OperatorScope(const char* name, bool linked = false)
        : m_guard(at::RecordScope::FUNCTION) {
        if (m_guard.isActive()) {
            m_guard.before(name, linked ? static_cast<std::int64_t>(at::sequence_number::peek())
                                        : std::int64_t{-1});
        }
    }

private:
    at::RecordFunction m_guard;
};

/// The native stream (cudaStream_t) that tensor operators of the calling thread go to.
[[nodiscard]] inline void* nativeStream(c10::Device device) {
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

/// Operators with a backward of their own remember parameters, and the group they are divided over,
/// by address: these outlive every graph, as they belong to the model.
template <class Kept>
void keep(torch::autograd::AutogradContext* context, const char* key, Kept* kept) {
    context->saved_data[key] = reinterpret_cast<std::int64_t>(kept);
}

/// Null when null was kept.
template <class Kept = Parameter>
[[nodiscard]] Kept* recall(torch::autograd::AutogradContext* context, const char* key) {
    return reinterpret_cast<Kept*>(context->saved_data[key].toInt());
}

}  // namespace shardscope::kernels
