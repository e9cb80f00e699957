#include "engine/worker/cuda/cuda_runtime.h"

#include "engine/control/thread_device.h"
#include "engine/kernels/cuda/cuda_error.h"
#include "engine/worker/cuda/cuda_graphs.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <string>

namespace shardscope::worker {
namespace {

using control::DeviceError;
using control::DeviceEvent;
using control::DeviceFault;
using control::DeviceMemory;
using control::DeviceStream;
using kernels::device::check;

cudaEvent_t cudaEvent(DeviceEvent event) {
    return static_cast<cudaEvent_t>(event.handle);
}
cudaStream_t cudaStream(DeviceStream stream) {
    return static_cast<cudaStream_t>(stream.handle);
}

/// LibTorch's own errors come with a stack trace; the first line says what happened.
std::string firstLine(const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return text.substr(0, text.find('\n'));
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
        // The default stream waits for nobody here, and nobody for it.
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
