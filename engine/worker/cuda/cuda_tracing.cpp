#include "engine/worker/cuda/cuda_tracing.h"

namespace shardscope::worker {

collectors::DeviceCollectorStart startCudaTracing(capture::DeviceLevel, capture::DeviceSink&) {
    Diagnostic missing;
    missing.severity = Severity::kWarning;
    missing.code = "kernels-not-traced";
    missing.message = "the CUDA module was built without the CUPTI collector";
    missing.remedy = "build it with profiler/collectors/cupti";
    return {nullptr, missing};
}

}  // namespace shardscope::worker
