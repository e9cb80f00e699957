#include "engine/kernels/adamw.h"

#include "engine/control/multiversion.h"

namespace shardscope::kernels {
namespace {

SHARDSCOPE_FOR_EACH_CPU void update(const AdamWConstants c, float* __restrict p,
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

void adamW(const AdamWConstants& constants, std::span<float> parameter,
           std::span<const float> gradient, std::span<float> firstMoment,
           std::span<float> secondMoment) {
    update(constants, parameter.data(), gradient.data(), firstMoment.data(), secondMoment.data(),
           parameter.size());
}

double sumOfSquares(std::span<const float> values) {
    return squares(values.data(), values.size());
}

}  // namespace shardscope::kernels
