// The symbol NCCL looks for. Export it from the executable
// (-Wl,--export-dynamic-symbol=ncclProfiler_v5) and refer to it once, or the linker leaves this
// file out of a static library.
#pragma once

#include "profiler/collectors/nccl/nccl_profiler_abi.h"

extern "C" {
__attribute__((visibility("default"))) extern shardscope::collectors::nccl::Plugin ncclProfiler_v5;
}
