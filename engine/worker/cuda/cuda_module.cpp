// The table of libshardscope_cuda.so and the one symbol it exports.
#include "engine/worker/cuda_module.h"

#include "engine/comm/nccl/nccl_library.h"
#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/worker/cuda/cuda_parts.h"
#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/cupti_collector.h"

namespace shardscope::worker {
namespace {

/// As CudaModule::startTracing, against the libcupti that this module is linked to. Once per
/// process: CUPTI knows one subscriber.
collectors::DeviceCollectorStart startCudaTracing(capture::DeviceLevel level,
                                                  capture::DeviceSink& sink) {
    return collectors::startCuptiCollector(collectors::cuptiLibrary(), level, sink);
}

}  // namespace
}  // namespace shardscope::worker

extern "C" __attribute__((visibility("default"))) const shardscope::worker::CudaModule*
shardscopeCudaModule();

const shardscope::worker::CudaModule* shardscopeCudaModule() {
    using namespace shardscope;
    static const worker::CudaModule module{
        worker::CudaModule::kVersion, "cuda",
        &worker::probeCuda,           &worker::startCudaTracing,
        &worker::openCudaDevice,      &comm::ncclLibrary(),
        &kernels::cudaKernels(),      &worker::traceCudaAllocations,
        &worker::measureCudaMatmul};
    return &module;
}
