// exp and the normal distribution in fp32 without branches or calls, for loops that the compiler
// turns into vector code. Errors are relative and of a few 2^-24 but in far tails.
#pragma once

#include "engine/kernels/normal_tail.h"

#include <bit>
#include <cstdint>

namespace shardscope::kernels {

/// e^x to 1.2e-7, for x of at most 88; below -87 that of -87 (1.6e-38). NaN stays NaN.
[[gnu::always_inline]] inline float exponential(float x) {
    x = x < -87.0F ? -87.0F : x;
    // x = n ln 2 + r; adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
    const float shifted = x * 1.44269504F + 12'582'912.0F;
    const float n = shifted - 12'582'912.0F;
    const float r = x - n * 0.693359375F + n * 2.12194440e-4F;
    // e^r for |r| <= ln 2 / 2 (the polynomial of Cephes' expf).
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                                (std::bit_cast<std::uint32_t>(shifted) << 23));
}

/// 1 / (1 + e^-x)
[[gnu::always_inline]] inline float sigmoid(float x) {
    const float e = exponential(x < 0 ? x : -x);
    const float upper = 1.0F / (1.0F + e);
    return x < 0 ? e * upper : upper;
}

struct Normal {
    float cumulative;  ///< P(Z <= x)
    float density;     ///< e^(-x²/2) / sqrt(2 pi)
};

/// With one exponential.
[[gnu::always_inline]] inline Normal normal(float x) {
    const float t = x < 0 ? -x : x;
    const float e = exponential(-0.5F * x * x);
    const float tail = normalTail(e, 1.0F / (1.0F + kNormalTailScale * t));
    return {x < 0 ? tail : 1.0F - tail, e * kNormalDensityAtZero};
}

}  // namespace shardscope::kernels
