// The GPUs of this host: which CUDA and this build can use, and who uses them already.
#pragma once

#include "app/cli/doctor_probe.h"
#include "app/cli/doctor_report.h"

namespace shardscope::cli {

/// Adds "gpu.usable" where CUDA cannot be used and "gpu.device_0" and on, and says whether training
/// on a GPU works.
void addDeviceChecks(const ProbeOutcome& probe, Diagnosis& diagnosis);

}  // namespace shardscope::cli
