// The GPU of a rank, found and chosen, and what is known of it. No CUDA context yet. Step thread.
#pragma once

#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/cuda_module.h"
#include "engine/worker/device_timeline.h"
#include "profiler/capture/device_sink.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace shardscope::worker {

class GpuDevice {
public:
    /// Loads the CUDA module and chooses among the devices that it sees. Before, it sets what NCCL
    /// and LibTorch read from the environment for a run traced at `level`. kLaunch: no module, no
    /// driver, too few devices.
    static Result<GpuDevice> find(const run::RankStart& start, capture::DeviceLevel level);

    /// Lives as long as the process.
    [[nodiscard]] const CudaModule& module() const { return *m_module; }
    [[nodiscard]] const CudaProbe& probe() const { return m_probe; }
    [[nodiscard]] std::int32_t index() const { return m_index; }
    /// Where LibTorch puts tensors.
    [[nodiscard]] at::Device tensors() const;

    /// For the recording; each stage of a GpuRank adds what it finds.
    [[nodiscard]] DeviceFacts& facts() { return m_facts; }
    [[nodiscard]] const DeviceFacts& facts() const { return m_facts; }

    /// "NVIDIA H200 (0000:17:00.0)", with "shared device" where ranks share it.
    [[nodiscard]] std::string text() const;
    /// Versions of the libraries below LibTorch, by their names.
    [[nodiscard]] std::map<std::string, std::string> libraries() const;

private:
    GpuDevice(const CudaModule& module, CudaProbe probe, std::int32_t index)
        : m_module(&module), m_probe(std::move(probe)), m_index(index) {}
    void describe(const run::RankStart& start);

    const CudaModule* m_module;
    CudaProbe m_probe;
    std::int32_t m_index;
    DeviceFacts m_facts;
};

// The device of a rank once it is open: what runs on it, and the clock and timeline of that.

struct GpuContext {
    /// Makes the device the calling thread's and creates its context. Throws control::DeviceError.
    explicit GpuContext(const GpuDevice& device)
        : runtime(device.module().openDevice(device.index())),
          clock(runtime),
          timeline(runtime, clock) {}

    control::DeviceRuntime& runtime;  ///< the module's; lives as long as the process
    control::DeviceClock clock;
    DeviceTimeline timeline;  ///< its marks are destroyed before the clock's
};

}  // namespace shardscope::worker
