// Device memory of a rank: LibTorch's allocator, block by block, and what lies outside of it.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/worker/gpu_device.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/nvml/nvml_thread.h"
#include "storage/model/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::worker {

// NVML's counters of this rank's device, sampled on a thread of their own.

class DeviceTelemetry {
public:
    /// Starts sampling into `sink`, which outlives it. An error says why there are no counters:
    /// training goes on without.
    static Result<std::unique_ptr<DeviceTelemetry>> start(const std::string& pciBusId,
                                                          capture::DeviceSink& sink);

    [[nodiscard]] const std::string& driver() const { return m_driver; }
    [[nodiscard]] bool mig() const { return m_mig; }
    /// Device memory of this process; nothing where the driver does not say.
    [[nodiscard]] std::optional<Bytes> ownMemory() const { return m_sampler->ownMemory(); }

private:
    explicit DeviceTelemetry(collectors::NvmlLibrary library) : m_library(std::move(library)) {}

    collectors::NvmlLibrary m_library;
    std::string m_driver;
    bool m_mig = false;
    std::optional<collectors::NvmlSampler> m_sampler;
    std::optional<collectors::NvmlThread> m_thread;  ///< after what it samples
};

class GpuMemory {
public:
    /// Once per process, after the device is open. `session` outlives it; `use` is asked on the
    /// allocating thread.
    GpuMemory(const GpuDevice& device, capture::CaptureSession& session,
              collectors::BlockUse (*use)());
    /// The allocator's words go nowhere from here on.
    ~GpuMemory();
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;

    /// Most bytes in live blocks since the last call; step thread.
    [[nodiscard]] std::int64_t takePeak() { return m_blocks.takePeakAllocatedBytes(); }
    /// Bytes in live blocks; any thread.
    [[nodiscard]] std::int64_t allocatedBytes() const { return m_blocks.allocatedBytes(); }
    /// The first since the last call; step thread.
    [[nodiscard]] std::optional<collectors::OutOfMemory> takeOutOfMemory() {
        return m_blocks.takeOutOfMemory();
    }

    /// Tells the reserve, and what is in use beyond it: CUDA context, NCCL, libraries. Where
    /// `telemetry` (may be null) does not say what is this process's, other processes' is in it.
    /// One thread at a time; nothing while the session takes no details.
    void sample(control::DeviceRuntime& runtime, const DeviceTelemetry* telemetry);

private:
    capture::CaptureSession& m_session;
    collectors::DeviceMemory& m_blocks;  ///< never deleted: the allocator calls it until exit
    std::int64_t m_outsideBytes = -1;
};

}  // namespace shardscope::worker
