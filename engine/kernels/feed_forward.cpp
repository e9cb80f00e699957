#include "engine/kernels/feed_forward.h"

#include "engine/control/multiversion.h"
#include "engine/kernels/device_kernels.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/vector_math.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

namespace shardscope::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr std::int64_t kElementsAThread = 1 << 15;

bool ownLoops(const at::Tensor& t) {
    return t.is_cpu() && t.scalar_type() == at::kFloat;
}

float* data(const at::Tensor& t, std::int64_t offset) {
    return t.mutable_data_ptr<float>() + offset;
}

template <class Work>
void forEachPart(const at::Tensor& t, const Work& work) {
    at::parallel_for(0, t.numel(), kElementsAThread, [&](std::int64_t begin, std::int64_t end) {
        work(begin, static_cast<std::size_t>(end - begin));
    });
}

DeviceActivation deviceActivation(const at::Tensor& gate, const at::Tensor& wide,
                                  const at::Tensor& y) {
    DeviceActivation given;
    given.dtype = dataTypeOf(wide.scalar_type());
    given.n = wide.numel();
    if (gate.defined()) given.gate = gate.const_data_ptr();
    given.wide = wide.const_data_ptr();
    given.y = y.mutable_data_ptr();
    return given;
}

at::Tensor activationOnDevice(const at::Tensor& gate, const at::Tensor& wide) {
    at::Tensor y = at::empty_like(wide);
    deviceKernels()->activation(deviceActivation(gate, wide, y), nativeStream(wide.device()));
    return y;
}

/// What the nonlinearity makes of the products; an undefined gate: a GELU.
at::Tensor activation(const at::Tensor& gate, const at::Tensor& wide) {
    const OperatorScope scope(gate.defined() ? "silu_gate" : "gelu");
    if (wide.is_cuda()) return activationOnDevice(gate, wide);
    if (!ownLoops(wide)) return gate.defined() ? at::silu(gate).mul_(wide) : at::gelu(wide);
    at::Tensor y = at::empty_like(wide);
    forEachPart(wide, [&](std::int64_t i, std::size_t n) {
        gate.defined() ? siluGate(data(gate, i), data(wide, i), data(y, i), n)
                       : gelu(data(wide, i), data(y, i), n);
    });
    return y;
}

struct ActivationGradients {
    at::Tensor y;  ///< the activation again
    at::Tensor dGate, dWide;
};

ActivationGradients activationBackwardOnDevice(const at::Tensor& gate, const at::Tensor& wide,
                                               const at::Tensor& dy) {
    ActivationGradients d{at::empty_like(wide), {}, dy};
    DeviceActivation given = deviceActivation(gate, wide, d.y);
    given.d = dy.mutable_data_ptr();
    if (gate.defined()) {
        d.dGate = at::empty_like(gate);
        given.dGate = d.dGate.mutable_data_ptr();
    }
    deviceKernels()->activationBackward(given, nativeStream(wide.device()));
    return d;
}

/// `dy` is used up: the gradient of `wide` takes its memory.
ActivationGradients activationBackward(const at::Tensor& gate, const at::Tensor& wide,
                                       const at::Tensor& dy) {
    const OperatorScope scope(gate.defined() ? "silu_gate_backward" : "gelu_backward");
    if (wide.is_cuda()) return activationBackwardOnDevice(gate, wide, dy);
    if (!ownLoops(wide)) {
        if (!gate.defined()) return {at::gelu(wide), {}, at::gelu_backward(dy, wide)};
        const at::Tensor silu = at::silu(gate);
        return {silu * wide, at::silu_backward(dy * wide, gate), dy * silu};
    }
    ActivationGradients d{at::empty_like(wide), {}, dy};
    if (gate.defined()) d.dGate = at::empty_like(gate);
    forEachPart(wide, [&](std::int64_t i, std::size_t n) {
        gate.defined() ? siluGateBackward(data(gate, i), data(wide, i), data(d.y, i), data(dy, i),
                                          data(d.dGate, i), n)
                       : geluBackward(data(wide, i), data(d.y, i), data(dy, i), n);
    });
    return d;
}

/// x Wᵀ
at::Tensor product(const at::Tensor& x, const Parameter& weight) {
    const OperatorScope scope("linear");
    at::Tensor y = at::empty({x.size(0), weight.value.size(0)}, x.options());
    matmul(x, weight.value.t(), y);
    return y;
}

/// dW (+)= dyᵀ x, dx (+)= dy W.
void productBackward(const at::Tensor& dy, const at::Tensor& x, Parameter& weight,
                     const at::Tensor& dx, bool addToDx) {
    const OperatorScope scope("linear_backward");
    matmul(dy.t(), x, weight.gradient, weight.accumulate);
    matmul(dy, weight.value, dx, addToDx);
    note(control::TensorRole::kGradient, weight.gradient, "linear weight");
}

struct FeedForwardFunction : torch::autograd::Function<FeedForwardFunction> {
    static Variable forward(AutogradContext* context, const Variable& stream, const Variable& x,
                            const FeedForward* parameters, const at::Tensor* copy,
                            TensorGroup* group) {
        const at::Tensor rows = group == nullptr ? x : group->gather(x);
        at::Tensor gate;
        if (parameters->gate != nullptr) gate = product(rows, *parameters->gate);
        const at::Tensor wide = product(rows, *parameters->fc);
        const at::Tensor narrow = activation(gate, wide);
        context->save_for_backward({x, gate, wide});
        keep(context, "gate", parameters->gate);
        keep(context, "fc", parameters->fc);
        keep(context, "out", parameters->out);
        keep(context, "group", group);
        at::Tensor y = copy->defined() ? *copy : at::empty_like(stream).copy_(stream);
        addOutput(narrow, *parameters->out, group, y);
        return y;
    }

    /// y += narrow Outᵀ
    static void addOutput(const at::Tensor& narrow, const Parameter& out, TensorGroup* group,
                          const at::Tensor& y) {
        const OperatorScope scope("linear_add");
        if (group == nullptr) return matmul(narrow, out.value.t(), y, true);
        const at::Tensor partial = group->partial(narrow.size(0), y.size(1), y.options());
        matmul(narrow, out.value.t(), partial);
        y.add_(group->sum(partial));
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const at::Tensor dStream = outputs[0].contiguous();
        TensorGroup* const group = recall<TensorGroup>(context, "group");
        const auto saved = context->get_saved_variables();
        const at::Tensor &gate = saved[1], &wide = saved[2];
        const at::Tensor dy = group == nullptr ? dStream : group->gather(dStream);
        Parameter& out = *recall(context, "out");
        const at::Tensor dNarrow = at::empty_like(wide);
        matmul(dy, out.value, dNarrow);
        ActivationGradients d = activationBackward(gate, wide, dNarrow);
        {
            const OperatorScope scope("linear_backward");
            matmul(dy.t(), d.y, out.gradient, out.accumulate);
        }
        d.y = at::Tensor();
        const at::Tensor x = group == nullptr ? saved[0] : group->gather(saved[0]);
        const at::Tensor dx = group == nullptr ? at::empty_like(x)
                                               : group->partial(x.size(0), x.size(1), x.options());
        productBackward(d.dWide, x, *recall(context, "fc"), dx, false);
        if (gate.defined()) productBackward(d.dGate, x, *recall(context, "gate"), dx, true);
        return {dStream, group == nullptr ? dx : group->sum(dx), Variable(), Variable(),
                Variable()};
    }
};

}  // namespace

at::Tensor feedForward(const at::Tensor& stream, const at::Tensor& x, const FeedForward& parameters,
                       const at::Tensor& copy, TensorGroup* group) {
    const OperatorScope scope("feed_forward", true);
    note(control::TensorRole::kParameter, parameters.fc->value, "linear weight");
    return FeedForwardFunction::apply(stream, x, &parameters, &copy, group);
}

SHARDSCOPE_FOR_EACH_CPU void gelu(const float* __restrict x, float* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * normal(x[i]).cumulative;
}

SHARDSCOPE_FOR_EACH_CPU void geluBackward(const float* __restrict x, float* __restrict y,
                                          float* __restrict d, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const Normal z = normal(x[i]);
        y[i] = x[i] * z.cumulative;
        d[i] *= z.cumulative + x[i] * z.density;
    }
}

SHARDSCOPE_FOR_EACH_CPU void siluGate(const float* __restrict gate, const float* __restrict x,
                                      float* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        y[i] = gate[i] * sigmoid(gate[i]) * x[i];
    }
}

SHARDSCOPE_FOR_EACH_CPU void siluGateBackward(const float* __restrict gate,
                                              const float* __restrict x, float* __restrict y,
                                              float* __restrict d, float* __restrict dGate,
                                              std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const float share = sigmoid(gate[i]);
        const float silu = gate[i] * share;
        const float dy = d[i];
        y[i] = silu * x[i];
        d[i] = dy * silu;
        dGate[i] = dy * x[i] * (share + silu * (1.0F - share));
    }
}

}  // namespace shardscope::kernels
