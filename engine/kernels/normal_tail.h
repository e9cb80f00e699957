// The tail of a standard normal distribution, as CPU ranks and a device's kernels compute it.
#pragma once

#include "engine/kernels/everywhere.h"

namespace shardscope::kernels {

/// normalTail()'s u is 1 / (1 + kNormalTailScale t).
inline constexpr float kNormalTailScale = 0.35F;

/// P(Z > t) for t >= 0, of `e` = e^(-t²/2): e R(t), and R(t) = erfcx(t / sqrt 2) / 2 is u times a
/// polynomial in u, interpolated at Chebyshev's points up to t = 13.3 to 4e-8.
[[gnu::always_inline]] SHARDSCOPE_EVERYWHERE inline float normalTail(float e, float u) {
    float p = -0.0295765433F;
    p = p * u + 0.146069033F;
    p = p * u - 0.2600329F;
    p = p * u + 0.164063495F;
    p = p * u - 0.0264226952F;
    p = p * u + 0.106876462F;
    p = p * u + 0.119498141F;
    p = p * u + 0.139905974F;
    p = p * u + 0.139619016F;
    return e * (p * u);
}

/// 1 / sqrt(2 pi)
inline constexpr float kNormalDensityAtZero = 0.398942280F;

}  // namespace shardscope::kernels
