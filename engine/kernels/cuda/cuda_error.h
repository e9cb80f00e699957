// CUDA's error codes as control::DeviceError: a sentence, and whether the device is lost.
#pragma once

#include "engine/control/device_runtime.h"

#include <driver_types.h>

namespace shardscope::kernels::device {

/// kLost for the errors after which no call of this process succeeds any more.
[[nodiscard]] control::DeviceFault faultOf(cudaError_t code);

/// `doing` in the gerund: "waiting for an event".
[[nodiscard]] control::DeviceError deviceError(cudaError_t code, const char* doing);

/// Throws deviceError() unless code is cudaSuccess.
void check(cudaError_t code, const char* doing);

}  // namespace shardscope::kernels::device
