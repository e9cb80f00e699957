#include "engine/kernels/cross_entropy.h"

#include "engine/control/head_chunk.h"
#include "engine/kernels/device_kernels.h"
#include "engine/kernels/device_stream.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace shardscope::kernels {
namespace {

/// Sum of -log p[target]; turns log-probabilities into scale * (p - onehot) when `gradient`.
double gatherLoss(at::Tensor& logProbabilities, const std::int64_t* targets, double scale,
                  bool gradient) {
    const std::int64_t rows = logProbabilities.size(0);
    const std::int64_t width = logProbabilities.size(1);
    float* data = logProbabilities.data_ptr<float>();
    double loss = 0;
    for (std::int64_t i = 0; i < rows; ++i) loss -= data[i * width + targets[i]];
    if (!gradient) return loss;
    logProbabilities.exp_();
    for (std::int64_t i = 0; i < rows; ++i) data[i * width + targets[i]] -= 1.0F;
    logProbabilities.mul_(scale);
    return loss;
}

/// Logits (n, V) in, their gradients out (unless not `gradient`); adds to `loss`.
at::Tensor softmaxLoss(const at::Tensor& logits, const at::Tensor& targets, double scale,
                       bool gradient, const at::Tensor& loss) {
    if (logits.is_cuda()) {
        const DataType dtype =
            logits.scalar_type() == at::kBFloat16 ? DataType::kBFloat16 : DataType::kFloat32;
        deviceKernels()->softmaxCrossEntropy(
            logits.mutable_data_ptr(), dtype, logits.size(0), logits.size(1),
            targets.const_data_ptr<std::int64_t>(), static_cast<float>(scale), gradient,
            loss.mutable_data_ptr<double>(), nativeStream(logits.device()));
        return logits;
    }
    at::Tensor probabilities = at::_log_softmax(logits.to(at::kFloat), 1, false);
    *loss.mutable_data_ptr<double>() +=
        gatherLoss(probabilities, targets.const_data_ptr<std::int64_t>(), scale, gradient);
    return probabilities.to(logits.scalar_type());
}

}  // namespace

void linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                        double scale, const at::Tensor& dx, const at::Tensor& loss) {
    const OperatorScope scope("linear_cross_entropy");
    const std::int64_t rows = x.size(0);
    const std::int64_t vocabulary = weight.value.size(0);
    const std::int64_t most = x.is_cuda() ? control::kDeviceLogitChunk : control::kHostLogitChunk;
    const std::int64_t chunk = std::clamp<std::int64_t>(most / vocabulary, 1, rows);
    const at::Tensor buffer = at::empty({chunk, vocabulary}, x.options());
    // Several chunks are summed in fp32, whatever the gradient is kept in.
    const bool sumsApart =
        chunk < rows && weight.gradient.defined() && weight.gradient.scalar_type() == at::kBFloat16;
    at::Tensor sum = weight.gradient;
    if (sumsApart) sum = at::empty(weight.value.sizes(), x.options().dtype(at::kFloat));
    for (std::int64_t begin = 0; begin < rows; begin += chunk) {
        const std::int64_t count = std::min(chunk, rows - begin);
        const at::Tensor part = x.narrow(0, begin, count);
        const at::Tensor logits = buffer.narrow(0, 0, count);
        matmul(part, weight.value.t(), logits);
        const at::Tensor gradient =
            softmaxLoss(logits, targets.narrow(0, begin, count), scale, dx.defined(), loss);
        if (!dx.defined()) continue;
        matmul(gradient, weight.value, dx.narrow(0, begin, count));
        matmul(gradient.t(), part, sum, begin > 0 || (weight.accumulate && !sumsApart));
    }
    if (sumsApart && dx.defined()) {
        weight.accumulate ? weight.gradient.add_(sum) : weight.gradient.copy_(sum);
    }
}

}  // namespace shardscope::kernels
