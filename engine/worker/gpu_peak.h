// What a device can do at most, from its data sheet and measured: the denominator of MFU on GPUs.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/cuda_module.h"
#include "storage/model/recording.h"

namespace shardscope::worker {

/// Notes the best rate of matrix products at the run's own shapes; on the open device, for less
/// than a second. Step thread.
void measurePeak(const CudaModule& module, const run::RunConfig& config, DeviceFacts& facts);

/// Notes the vendor's figure at this precision, or why there is none. Pure.
void lookUpPeak(run::Precision precision, DeviceFacts& facts);

/// What MFU goes by: the vendor's figure, and none where ranks share the device. Pure.
[[nodiscard]] run::PeakMeasured peakOf(const DeviceFacts& facts);

}  // namespace shardscope::worker
