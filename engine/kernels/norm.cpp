#include "engine/kernels/norm.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/norm_rows.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>

#include <tuple>

namespace shardscope::kernels {
namespace {

const void* untypedIn(const at::Tensor& t) {
    return t.defined() ? t.const_data_ptr() : nullptr;
}
void* untypedOut(const at::Tensor& t) {
    return t.defined() ? t.mutable_data_ptr() : nullptr;
}
const float* in(const at::Tensor& t) {
    return t.defined() ? t.const_data_ptr<float>() : nullptr;
}
float* out(const at::Tensor& t) {
    return t.defined() ? t.mutable_data_ptr<float>() : nullptr;
}

// By a device's own kernels.

void takeGradients(DeviceNormBackward& norm, const Norm& parameters) {
    Parameter& weight = *parameters.weight;
    norm.gradientType = dataTypeOf(weight.gradient.scalar_type());
    norm.dWeight = untypedOut(weight.gradient);
    norm.addWeight = weight.accumulate;
    note(control::TensorRole::kGradient, weight.gradient, "vector");
    if (Parameter* const bias = parameters.bias; bias != nullptr) {
        norm.dBias = untypedOut(bias->gradient);
        norm.addBias = bias->accumulate;
        note(control::TensorRole::kGradient, bias->gradient, "vector");
    }
}

std::uint32_t* ticketsOf(const NormState& state) {
    return reinterpret_cast<std::uint32_t*>(state.tickets.mutable_data_ptr<std::int32_t>());
}

/// x, delta (N, C) contiguous on a device; `copy`, where defined, receives the sum once more.
NormState normForwardOnDevice(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters,
                              const at::Tensor& copy) {
    NormState state;
    state.stream = delta.defined() ? at::empty_like(x) : x;
    state.value = at::empty_like(x);
    state.rstd = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
    state.tickets = at::empty({normTickets(x.size(0))}, x.options().dtype(at::kInt));
    DeviceNormForward norm{dataTypeOf(x.scalar_type()), x.size(0), x.size(1), untypedIn(x),
                           untypedIn(delta)};
    norm.weight = untypedIn(parameters.weight->value);
    norm.value = untypedOut(state.value);
    norm.rstd = state.rstd.mutable_data_ptr<float>();
    norm.tickets = ticketsOf(state);
    if (delta.defined()) norm.sum = untypedOut(state.stream);
    norm.copy = untypedOut(copy);
    if (parameters.bias != nullptr) {
        state.mean = at::empty_like(state.rstd);
        norm.bias = untypedIn(parameters.bias->value);
        norm.mean = state.mean.mutable_data_ptr<float>();
    }
    deviceKernels()->normForward(norm, nativeStream(x.device()));
    return state;
}

/// dy, skip (N, C) contiguous. Stores the parameters' gradients.
at::Tensor normBackwardOnDevice(const at::Tensor& dy, const at::Tensor& skip,
                                const NormState& state, const Norm& parameters) {
    const at::Tensor dx = at::empty_like(dy);
    const at::Tensor work =
        at::empty({normWork(dy.size(0), dy.size(1))}, dy.options().dtype(at::kFloat));
    DeviceNormBackward norm{dataTypeOf(dy.scalar_type()), dy.size(0),    dy.size(1),
                            untypedIn(state.stream),      untypedIn(dy), untypedIn(skip)};
    norm.weight = untypedIn(parameters.weight->value);
    norm.mean = in(state.mean);
    norm.rstd = in(state.rstd);
    norm.dx = untypedOut(dx);
    norm.work = work.mutable_data_ptr<float>();
    norm.tickets = ticketsOf(state);
    takeGradients(norm, parameters);
    deviceKernels()->normBackward(norm, nativeStream(dy.device()));
    return dx;
}

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr std::int64_t kRowsAThread = 16;

bool ownLoops(const at::Tensor& x) {
    return x.is_cpu() && x.scalar_type() == at::kFloat;
}

NormState ownForward(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters) {
    NormState state;
    state.stream = delta.defined() ? at::empty_like(x) : x;
    state.value = at::empty_like(x);
    state.rstd = at::empty({x.size(0)}, x.options());
    if (parameters.bias != nullptr) state.mean = at::empty_like(state.rstd);
    NormForward rows;
    rows.x = in(x);
    rows.delta = in(delta);
    rows.weight = in(parameters.weight->value);
    if (parameters.bias != nullptr) rows.bias = in(parameters.bias->value);
    if (delta.defined()) rows.sum = out(state.stream);
    rows.y = out(state.value);
    rows.mean = out(state.mean);
    rows.rstd = out(state.rstd);
    rows.width = static_cast<std::size_t>(x.size(1));
    at::parallel_for(0, x.size(0), kRowsAThread,
                     [&](std::int64_t begin, std::int64_t end) { normRows(rows, begin, end); });
    return state;
}

at::Tensor ownBackward(const at::Tensor& dy, const at::Tensor& skip, const NormState& state,
                       const Norm& parameters) {
    const std::int64_t width = dy.size(1);
    // Each thread sums the parameters' gradients in a row of its own.
    const std::int64_t threads = at::get_num_threads();
    const at::Tensor dWeight = at::zeros({threads, width}, dy.options());
    at::Tensor dBias;
    if (parameters.bias != nullptr) dBias = at::zeros({threads, width}, dy.options());
    at::Tensor dx = at::empty_like(dy);
    NormBackward rows;
    rows.x = in(state.stream);
    rows.dy = in(dy);
    rows.skip = in(skip);
    rows.weight = in(parameters.weight->value);
    rows.mean = in(state.mean);
    rows.rstd = in(state.rstd);
    rows.dx = out(dx);
    rows.width = static_cast<std::size_t>(width);
    at::parallel_for(0, dy.size(0), kRowsAThread, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t own = at::get_thread_num() * width;
        float* bias = dBias.defined() ? out(dBias) + own : nullptr;
        normRowsBackward(rows, begin, end, out(dWeight) + own, bias);
    });
    const auto total = [&](const at::Tensor& t) { return threads == 1 ? t[0] : t.sum(0); };
    storeGradient(total(dWeight), *parameters.weight);
    if (dBias.defined()) storeGradient(total(dBias), *parameters.bias);
    return dx;
}

NormState rmsForward(const at::Tensor& x, const at::Tensor& weight) {
    NormState state;
    state.stream = x;
    const at::Tensor wide = x.to(at::kFloat);
    state.rstd = at::rsqrt((wide * wide).mean(1, true) + kNormEpsilon);
    state.value = (wide * state.rstd * weight.to(at::kFloat)).to(x.scalar_type());
    return state;
}

struct NormGradients {
    at::Tensor dx, dWeight, dBias;
};

NormGradients rmsBackward(const at::Tensor& dy, const NormState& state, const at::Tensor& weight) {
    const at::Tensor& x = state.stream;
    const at::Tensor z = x.to(at::kFloat) * state.rstd;
    const at::Tensor wide = dy.to(at::kFloat);
    const at::Tensor g = wide * weight.to(at::kFloat);
    const at::Tensor dx = state.rstd * (g - z * (g * z).mean(1, true));
    return {dx.to(x.scalar_type()), (wide * z).sum(0), {}};
}

/// LibTorch keeps the statistics of half-precision rows in fp32 only if the parameters are fp32.
at::Tensor widened(const at::Tensor& vector) {
    return vector.to(at::kFloat);
}

NormState dispatchedForward(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters) {
    const at::Tensor stream = delta.defined() ? at::add(x, delta) : x;
    if (parameters.bias == nullptr) return rmsForward(stream, parameters.weight->value);
    auto [value, mean, rstd] =
        at::native_layer_norm(stream, {stream.size(1)}, widened(parameters.weight->value),
                              widened(parameters.bias->value), kNormEpsilon);
    return {stream, value, mean, rstd, {}};
}

at::Tensor dispatchedBackward(const at::Tensor& dy, const at::Tensor& skip, const NormState& state,
                              const Norm& parameters) {
    NormGradients d;
    if (parameters.bias == nullptr) {
        d = rmsBackward(dy, state, parameters.weight->value);
    } else {
        std::tie(d.dx, d.dWeight, d.dBias) = at::native_layer_norm_backward(
            dy, state.stream, {dy.size(1)}, state.mean, state.rstd,
            widened(parameters.weight->value), widened(parameters.bias->value), {true, true, true});
        storeGradient(d.dBias, *parameters.bias);
    }
    storeGradient(d.dWeight, *parameters.weight);
    return skip.defined() ? d.dx.add_(skip) : d.dx;
}

struct NormFunction : torch::autograd::Function<NormFunction> {
    static variable_list forward(AutogradContext* context, const Variable& x,
                                 const std::optional<Variable>& delta, Parameter* weight,
                                 Parameter* bias, const at::Tensor* copy) {
        context->set_materialize_grads(false);
        context->saved_data["adds"] = delta.has_value();
        const NormState state = normForward(x, delta.value_or(Variable()), {weight, bias}, *copy);
        context->save_for_backward({state.stream, state.mean, state.rstd, state.tickets});
        keep(context, "weight", weight);
        keep(context, "bias", bias);
        return {state.stream, state.value};
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const auto saved = context->get_saved_variables();
        const Norm parameters{recall(context, "weight"), recall(context, "bias")};
        NormState state;
        state.stream = saved[0];
        state.mean = saved[1];
        state.rstd = saved[2];
        state.tickets = saved[3];
        const at::Tensor dx = outputs[1].defined() ? normBackward(outputs[1].contiguous(),
                                                                  outputs[0], state, parameters)
                                                   : outputs[0];
        const bool adds = context->saved_data["adds"].toBool();  // both get the same gradient then
        return {dx, adds ? dx : Variable(), Variable(), Variable(), Variable()};
    }
};

Normed apply(const at::Tensor& x, const std::optional<Variable>& delta, const Norm& parameters) {
    const at::Tensor copy = delta && x.is_cuda() ? at::empty_like(x) : at::Tensor();
    const auto outputs = NormFunction::apply(x, delta, parameters.weight, parameters.bias, &copy);
    return {outputs[0], outputs[1], copy};
}

}  // namespace

NormState normForward(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters,
                      const at::Tensor& copy) {
    const NormState state = x.is_cuda()   ? normForwardOnDevice(x, delta, parameters, copy)
                            : ownLoops(x) ? ownForward(x, delta, parameters)
                                          : dispatchedForward(x, delta, parameters);
    note(control::TensorRole::kNormOutput, state.value, "norm");
    note(control::TensorRole::kNormStatistic, state.rstd, "norm");
    note(control::TensorRole::kParameter, parameters.weight->value, "norm weight");
    return state;
}

at::Tensor normBackward(const at::Tensor& dy, const at::Tensor& skip, const NormState& state,
                        const Norm& parameters) {
    const at::Tensor past = skip.defined() ? skip.contiguous() : skip;
    if (dy.is_cuda()) return normBackwardOnDevice(dy, past, state, parameters);
    return ownLoops(dy) ? ownBackward(dy, past, state, parameters)
                        : dispatchedBackward(dy, past, state, parameters);
}

Normed normalise(const at::Tensor& x, const Norm& parameters) {
    const OperatorScope scope(parameters.bias == nullptr ? "rms_norm" : "layer_norm", true);
    return apply(x, std::nullopt, parameters);
}

Normed addAndNormalise(const at::Tensor& x, const at::Tensor& delta, const Norm& parameters) {
    const OperatorScope scope(parameters.bias == nullptr ? "add_rms_norm" : "add_layer_norm", true);
    return apply(x, delta, parameters);
}

}  // namespace shardscope::kernels
