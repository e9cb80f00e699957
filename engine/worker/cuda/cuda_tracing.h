// Starts the CUPTI collector against the libcupti this module is linked to.
#pragma once

#include "profiler/collectors/cupti/device_collector.h"

namespace shardscope::worker {

/// As CudaModule::startTracing. Once a process: CUPTI knows one subscriber.
[[nodiscard]] collectors::DeviceCollectorStart startCudaTracing(capture::DeviceLevel level,
                                                                capture::DeviceSink& sink);

}  // namespace shardscope::worker
