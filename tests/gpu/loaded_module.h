// libshardscope_cuda.so, loaded from beside the test program.
#pragma once

#include "engine/worker/cuda_module.h"

#include <string>

namespace shardscope::worker {

struct LoadedModule {
    const CudaModule* module = nullptr;  ///< null: see error
    std::string error;
    bool incomplete = false;  ///< a library that it needs is not on this machine
};

/// Loaded once a process, never unloaded.
[[nodiscard]] const LoadedModule& loadedModule();

}  // namespace shardscope::worker
