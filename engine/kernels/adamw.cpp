#include "engine/kernels/adamw.h"

#include "engine/control/multiversion.h"

#include <algorithm>
#include <cmath>

namespace shardscope::kernels {
namespace {

#define SHARDSCOPE_FOR_EACH_CPU SHARDSCOPE_MULTIVERSION("avx512f", "avx2,fma", "default")

struct Constants {
    float decay, beta2, oneMinusBeta1, oneMinusBeta2, stepSize, inverseCorrection2, epsilon, scale;
};

SHARDSCOPE_FOR_EACH_CPU void update(const Constants c, float* __restrict p,
                                    const float* __restrict g, float* __restrict m,
                                    float* __restrict v, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const float gradient = g[i] * c.scale;
        const float first = m[i] + c.oneMinusBeta1 * (gradient - m[i]);
        const float second = c.beta2 * v[i] + c.oneMinusBeta2 * gradient * gradient;
        const float denominator = __builtin_sqrtf(second) * c.inverseCorrection2 + c.epsilon;
        m[i] = first;
        v[i] = second;
        p[i] = p[i] * c.decay - c.stepSize * (first / denominator);
    }
}

/// Sixteen running sums keep the order fixed whatever the vector width.
SHARDSCOPE_FOR_EACH_CPU double squares(const float* __restrict values, std::size_t n) {
    constexpr std::size_t kLanes = 16;
    double sums[kLanes] = {};
    const std::size_t whole = n / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const double value = static_cast<double>(values[i + lane]);
            sums[lane] += value * value;
        }
    }
    double total = 0;
    for (double sum : sums) total += sum;
    for (std::size_t i = whole; i < n; ++i) {
        total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    return total;
}

}  // namespace

void adamW(const AdamWStep& step, std::span<float> parameter, std::span<const float> gradient,
           std::span<float> firstMoment, std::span<float> secondMoment) {
    const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction2 = 1.0 - std::pow(step.beta2, static_cast<double>(step.step));
    Constants c{};
    c.decay = static_cast<float>(1.0 - step.learningRate * step.weightDecay);
    c.beta2 = static_cast<float>(step.beta2);
    c.oneMinusBeta1 = static_cast<float>(1.0 - step.beta1);
    c.oneMinusBeta2 = static_cast<float>(1.0 - step.beta2);
    c.stepSize = static_cast<float>(step.learningRate / correction1);
    c.inverseCorrection2 = static_cast<float>(1.0 / std::sqrt(correction2));
    c.epsilon = static_cast<float>(step.epsilon);
    c.scale = static_cast<float>(step.gradientScale);
    update(c, parameter.data(), gradient.data(), firstMoment.data(), secondMoment.data(),
           parameter.size());
}

double sumOfSquares(std::span<const float> values) {
    return squares(values.data(), values.size());
}

}  // namespace shardscope::kernels
