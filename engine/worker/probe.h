// What `shardscope-rank --probe` finds out about engine, driver, GPU part and tracing, for
// `shardscope doctor` (engine/run/protocol/probe_parts.h).
//
// Each part is printed before the next is begun: when one crashes or hangs, what was found before
// is known, and so is where it happened. No device is opened, no memory taken.
#pragma once

#include "engine/run/protocol/probe_parts.h"
#include "engine/worker/cuda_module.h"
#include "profiler/collectors/nvml/nvml_api.h"

#include <functional>

namespace shardscope::worker {

/// Tells the parts in the order of run::ProbePart, the tracer's where a device can be used. Main
/// thread of a process that does nothing else.
void probe(const std::function<void(const run::ProbePart&)>& tell);

/// Version, and the devices with who uses their memory.
[[nodiscard]] run::DriverPart driverPart(const collectors::NvmlApi& nvml);
/// Versions, the devices CUDA can use, or why there is none.
[[nodiscard]] run::CudaPart cudaPart(const CudaProbe& probe);
/// Whether the tracer starts. Before the first CUDA context of the process.
[[nodiscard]] run::TracingPart tracingPart(const CudaModule& module);

}  // namespace shardscope::worker
