#include "engine/kernels/device_norm.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/device_stream.h"
#include "engine/kernels/note_tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace shardscope::kernels {
namespace {

const void* in(const at::Tensor& t) {
    return t.defined() ? t.const_data_ptr() : nullptr;
}
void* out(const at::Tensor& t) {
    return t.defined() ? t.mutable_data_ptr() : nullptr;
}
const float* statistics(const at::Tensor& t) {
    return t.defined() ? t.const_data_ptr<float>() : nullptr;
}

void takeGradients(DeviceNormBackward& norm, const Norm& parameters) {
    Parameter& weight = *parameters.weight;
    norm.gradientType = dataTypeOf(weight.gradient.scalar_type());
    norm.dWeight = out(weight.gradient);
    norm.addWeight = weight.accumulate;
    note(control::TensorRole::kGradient, weight.gradient, "vector");
    if (Parameter* const bias = parameters.bias; bias != nullptr) {
        norm.dBias = out(bias->gradient);
        norm.addBias = bias->accumulate;
        note(control::TensorRole::kGradient, bias->gradient, "vector");
    }
}

std::uint32_t* ticketsOf(const NormState& state) {
    return reinterpret_cast<std::uint32_t*>(state.tickets.mutable_data_ptr<std::int32_t>());
}

}  // namespace

NormState normForwardOnDevice(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters,
                              const at::Tensor& copy) {
    NormState state;
    state.stream = delta.defined() ? at::empty_like(x) : x;
    state.value = at::empty_like(x);
    state.rstd = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
    state.tickets = at::empty({normTickets(x.size(0))}, x.options().dtype(at::kInt));
    DeviceNormForward norm{dataTypeOf(x.scalar_type()), x.size(0), x.size(1), in(x), in(delta)};
    norm.weight = in(parameters.weight->value);
    norm.value = out(state.value);
    norm.rstd = state.rstd.mutable_data_ptr<float>();
    norm.tickets = ticketsOf(state);
    if (delta.defined()) norm.sum = out(state.stream);
    norm.copy = out(copy);
    if (parameters.bias != nullptr) {
        state.mean = at::empty_like(state.rstd);
        norm.bias = in(parameters.bias->value);
        norm.mean = state.mean.mutable_data_ptr<float>();
    }
    deviceKernels()->normForward(norm, nativeStream(x.device()));
    return state;
}

at::Tensor normBackwardOnDevice(const at::Tensor& dy, const at::Tensor& skip,
                                const NormState& state, const Norm& parameters) {
    const at::Tensor dx = at::empty_like(dy);
    const at::Tensor work =
        at::empty({normWork(dy.size(0), dy.size(1))}, dy.options().dtype(at::kFloat));
    DeviceNormBackward norm{
        dataTypeOf(dy.scalar_type()), dy.size(0), dy.size(1), in(state.stream), in(dy), in(skip)};
    norm.weight = in(parameters.weight->value);
    norm.mean = statistics(state.mean);
    norm.rstd = statistics(state.rstd);
    norm.dx = out(dx);
    norm.work = work.mutable_data_ptr<float>();
    norm.tickets = ticketsOf(state);
    takeGradients(norm, parameters);
    deviceKernels()->normBackward(norm, nativeStream(dy.device()));
    return dx;
}

}  // namespace shardscope::kernels
