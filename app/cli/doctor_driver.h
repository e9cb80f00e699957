// The NVIDIA driver: there, new enough, answering.
#pragma once

#include "app/cli/doctor_probe.h"
#include "app/cli/doctor_surroundings.h"

namespace shardscope::cli {

/// "gpu.driver"
[[nodiscard]] Check driverCheck(const ProbeOutcome& probe, const GpuSurroundings& around);

}  // namespace shardscope::cli
