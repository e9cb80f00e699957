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

void storeWeightGradient(const at::Tensor& dy, const at::Tensor& x, Parameter& weight) {
    matmul(dy.t(), x, weight.gradient, weight.accumulate);
    note(control::TensorRole::kGradient, weight.gradient, "linear weight");
}

/// Stores the weight's gradient, returns that of x.
at::Tensor linearBackward(const at::Tensor& dy, const at::Tensor& x, Parameter& weight) {
    storeWeightGradient(dy, x, weight);
    at::Tensor dx = at::empty_like(x);
    matmul(dy, weight.value, dx);
    return dx;
}

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
        return {linearBackward(dy, x, weight), Variable()};
    }
};

/// Gathered rows are gathered again in backward, not kept.
struct LinearByOutputs : torch::autograd::Function<LinearByOutputs> {
    static Variable forward(AutogradContext* context, const Variable& x, Parameter* weight,
                            TensorGroup* group) {
        context->save_for_backward({x});
        keep(context, "weight", weight);
        keep(context, "group", group);
        const at::Tensor rows = group->gather(x);
        at::Tensor y = at::empty({rows.size(0), weight->value.size(0)}, x.options());
        matmul(rows, weight->value.t(), y);
        return y;
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const at::Tensor dy = outputs[0].contiguous();
        Parameter& weight = *recall(context, "weight");
        TensorGroup& group = *recall<TensorGroup>(context, "group");
        const at::Tensor rows = group.gather(context->get_saved_variables()[0]);
        storeWeightGradient(dy, rows, weight);
        const at::Tensor partial = group.partial(rows.size(0), rows.size(1), rows.options());
        matmul(dy, weight.value, partial);
        return {group.sum(partial), Variable(), Variable()};
    }
};

struct LinearByInputs : torch::autograd::Function<LinearByInputs> {
    static Variable forward(AutogradContext* context, const Variable& x, Parameter* weight,
                            TensorGroup* group) {
        context->save_for_backward({x});
        keep(context, "weight", weight);
        keep(context, "group", group);
        const at::Tensor partial = group->partial(x.size(0), weight->value.size(0), x.options());
        matmul(x, weight->value.t(), partial);
        return group->sum(partial);
    }

    static variable_list backward(AutogradContext* context, const variable_list& outputs) {
        const at::Tensor dy =
            recall<TensorGroup>(context, "group")->gather(outputs[0].contiguous());
        const at::Tensor x = context->get_saved_variables()[0];
        Parameter& weight = *recall(context, "weight");
        return {linearBackward(dy, x, weight), Variable(), Variable()};
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

at::Tensor linearByOutputs(const at::Tensor& x, Parameter& weight, TensorGroup* group) {
    if (group == nullptr) return linear(x, weight);
    const OperatorScope scope("linear", true);
    note(control::TensorRole::kParameter, weight.value, "linear weight");
    return LinearByOutputs::apply(x, &weight, group);
}

at::Tensor linearByInputs(const at::Tensor& x, Parameter& weight, TensorGroup* group) {
    if (group == nullptr) return linear(x, weight);
    const OperatorScope scope("linear", true);
    note(control::TensorRole::kParameter, weight.value, "linear weight");
    return LinearByInputs::apply(x, &weight, group);
}

}  // namespace shardscope::kernels
