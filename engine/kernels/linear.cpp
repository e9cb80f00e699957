#include "engine/kernels/linear.h"

#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <torch/csrc/autograd/custom_function.h>

namespace shardscope::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// Parameters outlive every graph (they belong to the model), so a graph may hold addresses.
void keep(AutogradContext* context, const char* key, Parameter& parameter) {
    context->saved_data[key] = reinterpret_cast<std::int64_t>(&parameter);
}

Parameter& recall(AutogradContext* context, const char* key) {
    return *reinterpret_cast<Parameter*>(context->saved_data[key].toInt());
}

struct Linear : torch::autograd::Function<Linear> {
    static Variable forward(AutogradContext* context, const Variable& x, Parameter* weight) {
        context->save_for_backward({x});
        keep(context, "weight", *weight);
        at::Tensor y = at::empty({x.size(0), weight->value.size(0)}, x.options());
        matmul(x, weight->value.t(), y);
        return y;
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const at::Tensor dy = outputs[0].contiguous();
        const at::Tensor x = context->get_saved_variables()[0];
        Parameter& weight = recall(context, "weight");
        matmul(dy.t(), x, weight.gradient, weight.accumulate);
        at::Tensor dx = at::empty_like(x);
        matmul(dy, weight.value, dx);
        return {dx, Variable()};
    }
};

struct LayerNorm : torch::autograd::Function<LayerNorm> {
    static Variable forward(AutogradContext* context, const Variable& x, Parameter* weight,
                            Parameter* bias) {
        auto [y, mean, rstd] =
            at::native_layer_norm(x, {x.size(-1)}, weight->value, bias->value, kLayerNormEpsilon);
        context->save_for_backward({x, mean, rstd});
        keep(context, "weight", *weight);
        keep(context, "bias", *bias);
        return y;
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const auto saved = context->get_saved_variables();
        Parameter& weight = recall(context, "weight");
        Parameter& bias = recall(context, "bias");
        auto [dx, dw, db] = at::native_layer_norm_backward(
            outputs[0].contiguous(), saved[0], {saved[0].size(-1)}, saved[1], saved[2],
            weight.value, bias.value, {true, true, true});
        storeGradient(dw, weight);
        storeGradient(db, bias);
        return {dx, Variable(), Variable()};
    }
};

}  // namespace

void storeGradient(const at::Tensor& gradient, Parameter& parameter) {
    if (parameter.accumulate) {
        parameter.gradient.add_(gradient);
    } else {
        parameter.gradient.copy_(gradient);
    }
}

at::Tensor linear(const at::Tensor& x, Parameter& weight) {
    const OperatorScope scope("linear", true);
    return Linear::apply(x, &weight);
}

at::Tensor layerNorm(const at::Tensor& x, Parameter& weight, Parameter& bias) {
    const OperatorScope scope("layer_norm", true);
    return LayerNorm::apply(x, &weight, &bias);
}

}  // namespace shardscope::kernels
