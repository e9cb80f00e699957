// Finds and loads libshardscope_cuda.so, which lies beside this program.
#pragma once

#include "engine/worker/cuda_module.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::worker {

/// Before the first question to LibTorch about CUDA: it remembers the answer. Loaded for the
/// life of the process. kLaunch: not there, not loadable (a missing library is named), or of
/// another build.
Result<const CudaModule*> loadCudaModule();
/// The same from a folder of the caller's.
Result<const CudaModule*> loadCudaModule(const std::string& folder);

/// Why no device can be used, and what to do; empty: one can.
[[nodiscard]] std::string whyNoDevice(const CudaProbe& probe);

/// Which device rank `localRank` of `localRanks` on this host takes. kLaunch: fewer devices than
/// ranks, unless `share`.
Result<std::int32_t> chooseDevice(const CudaProbe& probe, std::int32_t localRank,
                                  std::int32_t localRanks, bool share);

}  // namespace shardscope::worker
