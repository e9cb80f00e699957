// What one AdamW step needs besides the element: computed in double, used in fp32, the same on
// CPU and GPU.
#pragma once

#include "engine/kernels/adamw.h"
#include "engine/kernels/everywhere.h"

#include <cmath>

namespace shardscope::kernels {

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

}  // namespace shardscope::kernels
