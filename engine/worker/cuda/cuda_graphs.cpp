#include "engine/worker/cuda/cuda_graphs.h"

#include "engine/kernels/cuda/cuda_error.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <string>
#include <utility>

namespace shardscope::worker {

using control::DeviceError;
using control::DeviceFault;

namespace {

/// LibTorch's errors as the runtime's: by CUDA's code where there is one.
template <class Call>
void translated(const char* doing, const Call& call) {
    try {
        call();
    } catch (const c10::AcceleratorError& error) {
        kernels::device::check(static_cast<cudaError_t>(error.get_error_code()), doing);
        throw;
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const c10::Error& error) {
        const std::string text = error.what_without_backtrace();
        throw DeviceError(DeviceFault::kOther,
                          std::string(doing) + " failed: " + text.substr(0, text.find('\n')));
    }
}

cudaStream_t currentStream(std::int32_t device) {
    return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}

/// Takes the stream out of the capture, valid or not.
void endOnStream(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone)
        static_cast<void>(cudaStreamEndCapture(stream, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    // It is known already what went wrong.
    static_cast<void>(cudaGetLastError());
}

/// The device's random numbers still count on the capture; a copy of the state does not.
void restoreGenerator(std::int32_t device) {
    const at::Generator& generator =
        at::cuda::detail::getDefaultCUDAGenerator(static_cast<c10::DeviceIndex>(device));
    auto* const numbers = at::check_generator<at::CUDAGeneratorImpl>(generator);
    numbers->graphsafe_set_state(numbers->clone()->graphsafe_get_state());
}

}  // namespace

class CudaGraph final : public control::DeviceGraph {
public:
    explicit CudaGraph(std::shared_ptr<const c10::MempoolId_t> memory) : pool(std::move(memory)) {}
    void launch() override {
        translated("launching a graph", [this] { graph.replay(); });
    }
    const std::shared_ptr<const c10::MempoolId_t> pool;
    at::cuda::CUDAGraph graph;
};

CudaGraphs::CudaGraphs(std::int32_t device) : m_device(device) {}
CudaGraphs::~CudaGraphs() = default;

std::shared_ptr<const c10::MempoolId_t> CudaGraphs::pool() {
    auto pool = m_pool.lock();
    if (pool == nullptr) {
        pool = std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
        m_pool = pool;
    }
    return pool;
}

/// The mode in which other threads, the communicator's watcher and the outbox, may ask for their
/// events meanwhile, and this one is told when it does so (cudaThreadExchangeStreamCaptureMode).
void CudaGraphs::begin() {
    m_current = std::make_unique<CudaGraph>(pool());
    translated("beginning the capture of a graph", [this] {
        m_current->graph.capture_begin(*m_current->pool, cudaStreamCaptureModeThreadLocal);
    });
}

std::unique_ptr<control::DeviceGraph> CudaGraphs::end() {
    translated("capturing a graph", [this] { m_current->graph.capture_end(); });
    return std::exchange(m_current, nullptr);
}

void CudaGraphs::abandon() noexcept {
    if (m_current == nullptr) return;
    endOnStream(currentStream(m_device));
    try {
        c10::cuda::CUDACachingAllocator::endAllocateToPool(static_cast<c10::DeviceIndex>(m_device),
                                                           *m_current->pool);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The capture ended as far as that before it failed.
    }
    m_current.reset();
    try {
        restoreGenerator(m_device);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Whoever draws a number there is told by LibTorch.
    }
}

}  // namespace shardscope::worker
