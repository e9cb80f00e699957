// The GPU part of this build: there, loadable, or what it takes to build it, and the CUDA libraries
// that it found.
#pragma once

#include "app/cli/doctor_probe.h"
#include "app/cli/doctor_surroundings.h"

#include <vector>

namespace shardscope::cli {

/// "gpu.module"; "gpu.toolkit" where it is not built; "gpu.runtime", "gpu.cupti" and "gpu.nccl"
/// where it is loaded.
[[nodiscard]] std::vector<Check> moduleChecks(const ProbeOutcome& probe,
                                              const GpuSurroundings& around);

}  // namespace shardscope::cli
