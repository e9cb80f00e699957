// How fast a device is: which attention kernel is faster at a run's own shapes, and its peak.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/cuda_module.h"
#include "engine/worker/device_timeline.h"
#include "storage/model/recording.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::worker {

/// What the run computes in; fp32 for TF32, which is a way to multiply it.
[[nodiscard]] at::ScalarType computeType(run::Precision precision);

/// (B T, 3 C) of random data in the type that the run computes in.
[[nodiscard]] at::Tensor attentionInput(const run::RunConfig& config, at::Device device);

/// Times forward and backward of cuDNN's and FlashAttention's kernel; leaves either in use.
[[nodiscard]] bool cudnnIsFaster(const run::RunConfig& config, at::Device device,
                                 DeviceTimeline& timeline);

// What a device can do at most, from its data sheet and measured: the denominator of MFU on GPUs.

/// Notes the best rate of matrix products at the run's own shapes; on the open device, for less
/// than a second. Step thread.
void measurePeak(const CudaModule& module, const run::RunConfig& config, DeviceFacts& facts);

/// (rows x inner) by (inner x columns).
struct ProductShape {
    std::int64_t rows = 0, inner = 0, columns = 0;
};
/// FLOP/s of such products on the open device, the best of about `seconds`. Step thread.
[[nodiscard]] double productRate(const CudaModule& module, const ProductShape& shape,
                                 run::Precision precision, double seconds);

/// Notes the vendor's figure at this precision, or why there is none. Pure.
void lookUpPeak(run::Precision precision, DeviceFacts& facts);

/// What MFU goes by: the vendor's figure, and none where ranks share the device. Pure.
[[nodiscard]] run::PeakMeasured peakOf(const DeviceFacts& facts);

}  // namespace shardscope::worker
