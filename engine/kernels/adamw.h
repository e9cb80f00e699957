// AdamW over a flat fp32 shard in one pass (Loshchilov & Hutter, arXiv 1711.05101; the update
// order of torch.optim.AdamW). Plain memory, any thread.
#pragma once

#include "engine/kernels/everywhere.h"

#include <cmath>
#include <cstdint>
#include <span>

namespace shardscope::kernels {

struct AdamWStep {
    double learningRate = 0;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weightDecay = 0;
    std::int64_t step = 1;       ///< counts from 1, for bias correction
    double gradientScale = 1.0;  ///< from clipping
};

/// What one AdamW step needs besides the element: computed in double, used in fp32, the same on
/// CPU and GPU.
struct AdamWConstants {
    float decay, beta2, oneMinusBeta1, oneMinusBeta2, stepSize, inverseCorrection2, epsilon, scale;
};

[[nodiscard]] SHARDSCOPE_EVERYWHERE inline AdamWConstants adamWConstants(const AdamWStep& step) {
    const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction2 = 1.0 - std::pow(step.beta2, static_cast<double>(step.step));
    AdamWConstants c{};
    c.decay = static_cast<float>(1.0 - step.learningRate * step.weightDecay);
    c.beta2 = static_cast<float>(step.beta2);
    c.oneMinusBeta1 = static_cast<float>(1.0 - step.beta1);
    c.oneMinusBeta2 = static_cast<float>(1.0 - step.beta2);
    c.stepSize = static_cast<float>(step.learningRate / correction1);
    c.inverseCorrection2 = static_cast<float>(1.0 / std::sqrt(correction2));
    c.epsilon = static_cast<float>(step.epsilon);
    c.scale = static_cast<float>(step.gradientScale);
    return c;
}

/// All four spans have the same length; constants: adamWConstants() of a step.
void adamW(const AdamWConstants& constants, std::span<float> parameter,
           std::span<const float> gradient, std::span<float> firstMoment,
           std::span<float> secondMoment);

/// Sum of squares in double precision.
[[nodiscard]] double sumOfSquares(std::span<const float> values);

}  // namespace shardscope::kernels
