// What the optimizer does to one flat shard, on whatever device it lies.
#pragma once

#include "engine/kernels/adamw.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

/// One shard; all (n), fp32. `compute` holds the parameters as they are computed with: the
/// parameters themselves, or a bf16 or fp16 copy of them.
struct ShardState {
    at::Tensor parameter, gradient, firstMoment, secondMoment;
    at::Tensor compute;
};

/// AdamW with weight decay on the first `decaying` elements only; refreshes `compute`.
void updateShard(const AdamWStep& step, std::int64_t decaying, const ShardState& shard);

/// What the norm of scaled gradients says about them. Unscaling takes no pass of its own: AdamW
/// multiplies by `factor` anyway.
struct GradientScale {
    bool finite = true;   ///< no gradient is infinite or NaN
    double norm = 0;      ///< of the gradients without the loss scale, before clipping
    double factor = 1.0;  ///< AdamWStep::gradientScale: clips and unscales
};
/// `squaredNorm` over all ranks of gradients of a loss that was multiplied by `lossScale`; clip 0:
/// no clipping.
[[nodiscard]] GradientScale gradientScale(double squaredNorm, double lossScale, double clip);

/// total += sum of squares of gradient, in double precision, in which no sum of finite fp32 squares
/// overflows: a total that is not finite has met a gradient that is not. total is () float64 on the
/// gradient's device.
void addSquaredNorm(const at::Tensor& gradient, const at::Tensor& total);

}  // namespace shardscope::kernels
