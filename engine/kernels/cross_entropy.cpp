#include "engine/kernels/cross_entropy.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/device_stream.h"
#include "engine/kernels/head_products.h"
#include "engine/kernels/logit_chunks.h"
#include "engine/kernels/note_tensor.h"
#include "engine/kernels/operator_scope.h"
#include "engine/kernels/softmax.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <numeric>
#include <vector>

namespace shardscope::kernels {
namespace {

/// Sum of -log p[target] over rows of fp32 logits, which become scale * (p - onehot) when
/// `gradient`. Summed row by row in order, whatever the number of threads.
double softmaxLossOnHost(const at::Tensor& logits, const std::int64_t* targets, double scale,
                         bool gradient) {
    const std::int64_t width = logits.size(1);
    float* data = logits.mutable_data_ptr<float>();
    std::vector<double> losses(static_cast<std::size_t>(logits.size(0)));
    at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            losses[static_cast<std::size_t>(i)] = softmaxCrossEntropy(
                data + i * width, static_cast<std::size_t>(width),
                static_cast<std::size_t>(targets[i]), static_cast<float>(scale), gradient);
        }
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void softmaxLossOnDevice(const at::Tensor& logits, const at::Tensor& targets, double scale,
                         bool gradient, const at::Tensor& loss) {
    deviceKernels()->softmaxCrossEntropy(
        deviceLogits(logits), targets.const_data_ptr<std::int64_t>(), static_cast<float>(scale),
        gradient, loss.mutable_data_ptr<double>(), nativeStream(logits.device()));
}

/// Logits (n, V) become their gradients (when `gradient`), taken in fp32 and rounded once; adds to
/// `loss`.
void softmaxLoss(const at::Tensor& logits, const at::Tensor& targets, double scale, bool gradient,
                 const at::Tensor& loss) {
    // The device's kernel reads and writes narrow types itself, and computes in fp32 too.
    if (logits.is_cuda()) return softmaxLossOnDevice(logits, targets, scale, gradient, loss);
    const at::Tensor wide = logits.to(at::kFloat);
    note(control::TensorRole::kLogitGradient, wide, "cross entropy, inside");
    *loss.mutable_data_ptr<double>() +=
        softmaxLossOnHost(wide, targets.const_data_ptr<std::int64_t>(), scale, gradient);
    if (gradient && !wide.is_same(logits)) logits.copy_(wide);
}

}  // namespace

void linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        double scale, const at::Tensor& dx, const at::Tensor& loss) {
    const OperatorScope scope("linear_cross_entropy");
    const std::int64_t vocabulary = weight.value.size(0);
    // Several chunks are summed in fp32, whatever the gradient is kept in.
    const bool sumsApart = logitRows(x, vocabulary) < x.size(0) && weight.gradient.defined() &&
                           weight.gradient.scalar_type() != at::kFloat;
    at::Tensor sum = weight.gradient;
    if (sumsApart) sum = at::empty(weight.value.sizes(), x.options().dtype(at::kFloat));
    forEachLogitChunk(x, vocabulary, [&](std::int64_t begin, const auto& part, const auto& logits) {
        productOfLogits(part, weight.value, logits);
        note(control::TensorRole::kLogits, logits, "head");
        softmaxLoss(logits, targets.narrow(0, begin, part.size(0)), scale, dx.defined(), loss);
        if (!dx.defined()) return;
        note(control::TensorRole::kLogitGradient, logits, "cross entropy, to the head's products");
        productOfInputs(logits, weight.value, dx.narrow(0, begin, part.size(0)), false);
        productOfWeights(logits, part, sum, begin > 0 || (weight.accumulate && !sumsApart));
    });
    if (sumsApart && dx.defined()) {
        weight.accumulate ? weight.gradient.add_(sum) : weight.gradient.copy_(sum);
    }
    note(control::TensorRole::kParameter, weight.value, "head");
    note(control::TensorRole::kLoss, loss, "sum of cross entropies");
    if (dx.defined()) note(control::TensorRole::kGradient, weight.gradient, "head");
}

}  // namespace shardscope::kernels
