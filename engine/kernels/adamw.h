// AdamW over a flat fp32 shard in one pass (Loshchilov & Hutter, arXiv 1711.05101; the update
// order of torch.optim.AdamW). Plain memory, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope::kernels {

struct AdamWConstants;

struct AdamWStep {
    double learningRate = 0;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weightDecay = 0;
    std::int64_t step = 1;       ///< counts from 1, for bias correction
    double gradientScale = 1.0;  ///< from clipping
};

/// All four spans have the same length; constants: adamWConstants() of a step.
void adamW(const AdamWConstants& constants, std::span<float> parameter,
           std::span<const float> gradient, std::span<float> firstMoment,
           std::span<float> secondMoment);

/// Sum of squares in double precision.
[[nodiscard]] double sumOfSquares(std::span<const float> values);

}  // namespace shardscope::kernels
