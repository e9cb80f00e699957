// What `shardscope-rank --probe` finds out about engine, driver, GPU part and tracing, for
// `shardscope doctor`.
//
// One JSON object a part, each told before the next is begun: when one crashes or hangs, what was
// found before is known, and so is where it happened. No device is opened, no memory taken.
#pragma once

#include "engine/worker/cuda_module.h"
#include "profiler/collectors/nvml/nvml_api.h"

#include <functional>
#include <string>

namespace shardscope::worker {

/// Tells the parts "engine", "driver", "cuda", "tracing" and "end", in this order, each as one
/// line of JSON without its newline. Main thread of a process that does nothing else.
void probe(const std::function<void(const std::string&)>& tell);

/// Part "driver": version, and the devices with who uses their memory.
[[nodiscard]] std::string driverPart(const collectors::NvmlApi& nvml);
/// Part "cuda": versions, the devices CUDA can use, or the sentence why there is none.
[[nodiscard]] std::string cudaPart(const CudaProbe& probe);
/// Part "tracing": whether the tracer starts. Before the first CUDA context of the process.
[[nodiscard]] std::string tracingPart(const CudaModule& module);

}  // namespace shardscope::worker
