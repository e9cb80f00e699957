// Finds and loads libshardscope_cuda.so, which lies beside this program.
#pragma once

#include "engine/run/protocol/probe_parts.h"
#include "engine/worker/cuda_module.h"
#include "storage/model/result.h"

#include <tl/expected.hpp>

#include <string>

namespace shardscope::worker {

/// The module, or what is in the way: no Error, for the doctor shows its remedy apart.
using LoadedModule = tl::expected<const CudaModule*, run::Obstacle>;

/// Before the first question to LibTorch about CUDA: it remembers the answer. Loaded for the
/// life of the process. Obstacles: "module-missing", "module-not-loadable" (a missing library is
/// named), "module-of-another-build".
[[nodiscard]] LoadedModule loadCudaModule();
/// The same from a folder of the caller's.
[[nodiscard]] LoadedModule loadCudaModule(const std::string& folder);

/// Why no device can be used: "no-driver", "driver-too-old", "no-device", "cuda-error"; none: one
/// can.
[[nodiscard]] run::Obstacle whyNoDevice(const CudaProbe& probe);

/// Which device rank `localRank` of `localRanks` on this host takes. kLaunch: fewer devices than
/// ranks, unless `share`.
Result<std::int32_t> chooseDevice(const CudaProbe& probe, std::int32_t localRank,
                                  std::int32_t localRanks, bool share);

}  // namespace shardscope::worker
