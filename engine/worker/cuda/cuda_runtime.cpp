#include "engine/control/device_runtime.h"
#include "engine/control/thread_device.h"
#include "engine/kernels/cuda/cuda_error.h"
#include "engine/worker/cuda/cuda_parts.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace shardscope::worker {
namespace {

using control::DeviceError;
using control::DeviceEvent;
using control::DeviceFault;
using control::DeviceMemory;
using control::DeviceStream;
using kernels::device::check;

/// LibTorch's own errors come with a stack trace; the first line says what happened.
std::string firstLine(const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return text.substr(0, text.find('\n'));
}

/// LibTorch's errors as the runtime's: by CUDA's code where there is one.
template <class Call>
void translated(const char* doing, const Call& call) {
    try {
        call();
    } catch (const c10::AcceleratorError& error) {
        check(static_cast<cudaError_t>(error.get_error_code()), doing);
        throw;
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const c10::Error& error) {
        throw DeviceError(DeviceFault::kOther, std::string(doing) + " failed: " + firstLine(error));
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

class CudaGraph final : public control::DeviceGraph {
public:
    explicit CudaGraph(std::shared_ptr<const c10::MempoolId_t> memory) : pool(std::move(memory)) {}
    void launch() override {
        translated("launching a graph", [this] { graph.replay(); });
    }
    const std::shared_ptr<const c10::MempoolId_t> pool;
    at::cuda::CUDAGraph graph;
};

/// Graphs of the CUDA runtime by LibTorch's class for them, which keeps what they allocate apart.
/// One capture at a time, on one thread whose device it is.
class CudaGraphs {
public:
    explicit CudaGraphs(std::int32_t device) : m_device(device) {}

    // DeviceRuntime's.
    void begin();
    std::unique_ptr<control::DeviceGraph> end();
    void abandon() noexcept;

private:
    [[nodiscard]] std::shared_ptr<const c10::MempoolId_t> pool();

    const std::int32_t m_device;
    /// Of all graphs, which hold it: LibTorch takes no pool again whose graphs are gone.
    std::weak_ptr<const c10::MempoolId_t> m_pool;
    std::unique_ptr<CudaGraph> m_current;  ///< null: nothing is being captured
};

std::shared_ptr<const c10::MempoolId_t> CudaGraphs::pool() {
    auto pool = m_pool.lock();
    if (pool == nullptr) {
        pool = std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
        m_pool = pool;
    }
    return pool;
}

/// The mode in which other threads, the communicator's watcher and the outbox, may ask for their
/// events meanwhile, and this one gets an error when it does so
/// (cudaThreadExchangeStreamCaptureMode).
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
        // LibTorch refuses random numbers there, in words.
    }
}

cudaEvent_t cudaEvent(DeviceEvent event) {
    return static_cast<cudaEvent_t>(event.handle);
}
cudaStream_t cudaStream(DeviceStream stream) {
    return static_cast<cudaStream_t>(stream.handle);
}

/// On threads whose device it is already.
class CudaCalls final : public control::DeviceRuntime {
public:
    explicit CudaCalls(std::int32_t index) : m_index(index), m_graphs(index) {
        CudaCalls::use();
        // Creates the context, so that what is wrong with the device is said here.
        check(cudaFree(nullptr), "opening the device");
        try {
            // LibTorch's streams and allocator; the allocator tracker needs them there.
            at::globalContext().lazyInitDevice(at::kCUDA);
        } catch (const c10::Error& error) {
            throw DeviceError(DeviceFault::kOther,
                              "LibTorch cannot use the device: " + firstLine(error));
        }
    }

    [[nodiscard]] std::int32_t index() const { return m_index; }

    void use() override { check(cudaSetDevice(m_index), "choosing the device"); }

    DeviceStream currentStream() override {
        return {c10::cuda::getCurrentCUDAStream(deviceIndex()).stream()};
    }

    DeviceStream createStream(bool highPriority) override {
        int least = 0;
        int greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "reading stream priorities");
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                           highPriority ? greatest : least),
              "creating a stream");
        return {stream};
    }

    void computeOn(DeviceStream stream) override {
        // The default stream does not synchronise with others here.
        synchronizeAll();
        c10::cuda::setCurrentCUDAStream(
            c10::cuda::getStreamFromExternal(cudaStream(stream), deviceIndex()));
    }

    DeviceEvent createEvent() override {
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventDefault), "creating an event");
        return {event};
    }

    void destroy(DeviceEvent event) override {
        check(cudaEventDestroy(cudaEvent(event)), "destroying an event");
    }

    void record(DeviceEvent event, DeviceStream stream) override {
        check(cudaEventRecord(cudaEvent(event), cudaStream(stream)), "recording an event");
    }

    void wait(DeviceStream stream, DeviceEvent event) override {
        check(cudaStreamWaitEvent(cudaStream(stream), cudaEvent(event), 0),
              "making a stream wait for an event");
    }

    bool reached(DeviceEvent event) override {
        const cudaError_t result = cudaEventQuery(cudaEvent(event));
        if (result == cudaErrorNotReady) {
            // Remembered as the last error otherwise.
            static_cast<void>(cudaGetLastError());
            return false;
        }
        check(result, "asking for an event");
        return true;
    }

    void synchronize(DeviceEvent event) override {
        check(cudaEventSynchronize(cudaEvent(event)), "waiting for an event");
    }

    void synchronizeAll() override { check(cudaDeviceSynchronize(), "waiting for the device"); }

    std::int64_t elapsedNs(DeviceEvent from, DeviceEvent to) override {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, cudaEvent(from), cudaEvent(to)),
              "reading the time between two events");
        return std::llround(static_cast<double>(milliseconds) * 1e6);
    }

    DeviceMemory memory() override {
        std::size_t free = 0;
        std::size_t total = 0;
        check(cudaMemGetInfo(&free, &total), "reading the device's memory");
        const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(deviceIndex());
        constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
        return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total),
                statistics.allocated_bytes[kAll].current, statistics.reserved_bytes[kAll].current};
    }

    void releaseCachedMemory() override { c10::cuda::CUDACachingAllocator::emptyCache(); }

    void beginCapture() override { m_graphs.begin(); }
    std::unique_ptr<control::DeviceGraph> endCapture() override { return m_graphs.end(); }
    void abandonCapture() noexcept override { m_graphs.abandon(); }

    void recordInGraph(DeviceEvent event, DeviceStream stream) override {
        check(
            cudaEventRecordWithFlags(cudaEvent(event), cudaStream(stream), cudaEventRecordExternal),
            "recording an event in a graph");
    }

private:
    [[nodiscard]] c10::DeviceIndex deviceIndex() const {
        return static_cast<c10::DeviceIndex>(m_index);
    }

    const std::int32_t m_index;
    CudaGraphs m_graphs;
};

struct CudaDevice {
    explicit CudaDevice(std::int32_t index) : calls(index) {}
    CudaCalls calls;
    control::ThreadDevice anyThread{calls};
};

}  // namespace

control::DeviceRuntime& openCudaDevice(std::int32_t index) {
    static std::mutex mutex;
    // Never destroyed: streams and events outlive static destruction at exit.
    static CudaDevice* device = nullptr;
    const std::scoped_lock lock(mutex);
    if (device == nullptr) device = std::make_unique<CudaDevice>(index).release();
    if (device->calls.index() != index) {
        throw DeviceError(DeviceFault::kOther, "device " + std::to_string(index) +
                                                   " was asked for, but this rank uses " +
                                                   std::to_string(device->calls.index()) +
                                                   "; a rank has one device");
    }
    return device->anyThread;
}

}  // namespace shardscope::worker
