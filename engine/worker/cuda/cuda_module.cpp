// The table of libshardscope_cuda.so and the one symbol it exports.
#include "engine/worker/cuda_module.h"

#include "engine/comm/nccl/nccl_library.h"
#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/worker/cuda/cuda_allocations.h"
#include "engine/worker/cuda/cuda_matmul.h"
#include "engine/worker/cuda/cuda_probe.h"
#include "engine/worker/cuda/cuda_runtime.h"
#include "engine/worker/cuda/cuda_tracing.h"

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
