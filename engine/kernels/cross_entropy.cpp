#include "engine/kernels/cross_entropy.h"

#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace shardscope::kernels {
namespace {

/// Floats of logits held at a time: 8 MiB, twice (logits, log-probabilities).
constexpr std::int64_t kChunkFloats = std::int64_t{2} << 20;

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

}  // namespace

double linearCrossEntropy(const at::Tensor& x, Parameter& weight, const at::Tensor& targets,
                          double scale, const at::Tensor& dx) {
    const OperatorScope scope("linear_cross_entropy");
    const std::int64_t rows = x.size(0);
    const std::int64_t vocabulary = weight.value.size(0);
    const std::int64_t chunk = std::clamp<std::int64_t>(kChunkFloats / vocabulary, 1, rows);
    at::Tensor buffer = at::empty({chunk, vocabulary}, x.options());
    const std::int64_t* wanted = targets.const_data_ptr<std::int64_t>();
    double loss = 0;
    for (std::int64_t begin = 0; begin < rows; begin += chunk) {
        const std::int64_t count = std::min(chunk, rows - begin);
        const at::Tensor part = x.narrow(0, begin, count);
        at::Tensor logits = buffer.narrow(0, 0, count);
        matmul(part, weight.value.t(), logits);
        at::Tensor probabilities = at::_log_softmax(logits, 1, false);
        loss += gatherLoss(probabilities, wanted + begin, scale, dx.defined());
        if (!dx.defined()) continue;
        matmul(probabilities, weight.value, dx.narrow(0, begin, count));
        matmul(probabilities.t(), part, weight.gradient, weight.accumulate || begin > 0);
    }
    return loss;
}

}  // namespace shardscope::kernels
