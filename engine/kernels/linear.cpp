#include "engine/kernels/linear.h"

#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace shardscope::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Linear : torch::autograd::Function<Linear> {
    static Variable forward(AutogradContext* context, const Variable& x, Parameter* weight) {
        context->save_for_backward({x});
        keep(context, "weight", weight);
        at::Tensor y = at::empty({x.size(0), weight->value.size(0)}, x.options());
        matmul(x, weight->value.t(), y);
        return y;
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const at::Tensor dy = outputs[0].contiguous();
        const at::Tensor x = context->get_saved_variables()[0];
        Parameter& weight = *recall(context, "weight");
        matmul(dy.t(), x, weight.gradient, weight.accumulate);
        note(control::TensorRole::kGradient, weight.gradient, "linear weight");
        at::Tensor dx = at::empty_like(x);
        matmul(dy, weight.value, dx);
        return {dx, Variable()};
    }
};

}  // namespace

void storeGradient(const at::Tensor& gradient, Parameter& parameter) {
    if (parameter.accumulate) {
        parameter.gradient.add_(gradient);
    } else {
        parameter.gradient.copy_(gradient);
    }
    note(control::TensorRole::kGradient, parameter.gradient, "vector");
}

at::Tensor linear(const at::Tensor& x, Parameter& weight) {
    const OperatorScope scope("linear", true);
    note(control::TensorRole::kParameter, weight.value, "linear weight");
    return Linear::apply(x, &weight);
}

}  // namespace shardscope::kernels
