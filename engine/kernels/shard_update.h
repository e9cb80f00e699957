// What the optimizer does to one flat shard, on whatever device it lies.
#pragma once

#include "engine/kernels/step_update.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

/// One shard; all (n), fp32, on one device, or in host memory (offloaded: gradient and `compute`
/// may stay on the device; the optimizer then runs on the host). `compute` holds the parameters as
/// they are computed with: the parameters themselves, or a bf16 or fp16 copy of them.
struct ShardState {
    at::Tensor parameter, gradient, firstMoment, secondMoment;
    at::Tensor compute;
};

/// `t`, or a copy of it in host memory, which is there when this returns.
[[nodiscard]] at::Tensor inHostMemory(const at::Tensor& t);

/// The memory of a StepUpdate as a tensor: (kStepUpdateValues) float64.
inline constexpr std::int64_t kStepUpdateValues = sizeof(StepUpdate) / sizeof(double);
[[nodiscard]] inline StepUpdate* stepUpdateIn(const at::Tensor& values) {
    return reinterpret_cast<StepUpdate*>(values.mutable_data_ptr<double>());
}

/// Starts a step's sums in `values`, wherever they lie: nothing but what this rank asks for.
void beginUpdate(const at::Tensor& values, bool stop, bool change);
/// decideUpdate() where `values` lie; queued on a device.
void decideUpdate(const UpdateRule& rule, const at::Tensor& values);

/// AdamW with weight decay on the first `decaying` elements only, if `update` applies; refreshes
/// `compute`. `update` lies where the parameter does.
void updateShard(const StepUpdate* update, std::int64_t decaying, const ShardState& shard);

/// total += sum of squares of gradient, in double precision, in which no sum of finite fp32 squares
/// overflows: a total that is not finite has met a gradient that is not. total is () float64 on the
/// device.
void addSquaredNorm(const at::Tensor& gradient, const at::Tensor& total);

}  // namespace shardscope::kernels
