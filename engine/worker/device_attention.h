// Which attention kernel a device runs faster at a run's own shapes.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/worker/device_timeline.h"

#include <ATen/core/Tensor.h>

namespace shardscope::worker {

/// What the run computes in; fp32 for TF32, which is a way to multiply it.
[[nodiscard]] at::ScalarType computeType(run::Precision precision);

/// (B T, 3 C) of random data in the type that the run computes in.
[[nodiscard]] at::Tensor attentionInput(const run::RunConfig& config, at::Device device);

/// Times forward and backward of cuDNN's and FlashAttention's kernel; leaves either in use.
[[nodiscard]] bool cudnnIsFaster(const run::RunConfig& config, at::Device device,
                                 DeviceTimeline& timeline);

}  // namespace shardscope::worker
