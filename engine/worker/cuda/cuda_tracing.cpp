#include "engine/worker/cuda/cuda_tracing.h"

#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/cupti_collector.h"

namespace shardscope::worker {

collectors::DeviceCollectorStart startCudaTracing(capture::DeviceLevel level,
                                                  capture::DeviceSink& sink) {
    return collectors::startCuptiCollector(collectors::cuptiLibrary(), level, sink);
}

}  // namespace shardscope::worker
