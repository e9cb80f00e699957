// The GPU side of a rank: device, tracing, NCCL, device memory, telemetry. Opened before LibTorch
// is asked anything about CUDA; lives as long as the process trains.
//
// Step thread, but for what says otherwise.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/device_runtime.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/gpu_device.h"
#include "engine/worker/gpu_tracing.h"
#include "engine/worker/outbox.h"
#include "engine/worker/rank_links.h"
#include "engine/worker/recording_observer.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/nvml/nvml_thread.h"
#include "storage/model/mutex.h"
#include "storage/model/result.h"

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::worker {

/// NVML's counters of this rank's device, sampled on a thread of their own.
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

/// Device memory of a rank: LibTorch's allocator, block by block, and what lies outside of it.
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

class GpuRank {
public:
    /// All references outlive it. kLaunch: no module, no driver, too few devices.
    static Result<std::unique_ptr<GpuRank>> open(const run::RankStart& start,
                                                 capture::CaptureSession& session, Outbox& outbox,
                                                 RecordingObserver& observer,
                                                 collectors::BlockUse (*use)());
    ~GpuRank();
    GpuRank(const GpuRank&) = delete;
    GpuRank& operator=(const GpuRank&) = delete;

    [[nodiscard]] at::Device device() const { return m_device.tensors(); }
    /// The module's; lives as long as the process.
    [[nodiscard]] control::DeviceRuntime& runtime() { return m_context->runtime; }
    [[nodiscard]] std::string deviceText() const { return m_device.text(); }
    [[nodiscard]] std::map<std::string, std::string> libraries() const {
        return m_device.libraries();
    }

    /// Joins the other ranks over NCCL, whose id `links` carry to them. When a peer is lost later,
    /// the failure is reported and the process ended. Throws CommunicationError.
    std::unique_ptr<comm::Communicator> join(const RankLinks& links);

    /// Times cuDNN's against FlashAttention's kernel at the run's shapes; true: cuDNN.
    [[nodiscard]] bool cudnnIsFaster();
    void useAttention(bool cudnn);
    [[nodiscard]] const std::string& attention() const { return m_device.facts().attention; }

    /// The vendor's figure for the run's precision; when `measure`, matrix products at the run's
    /// own shapes as well.
    run::PeakMeasured peak(bool measure);
    /// FLOP/s of (rows x inner) by (inner x columns) products, the best of about `seconds`.
    [[nodiscard]] double productRate(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                                     run::Precision precision, double seconds) const;

    /// Switches tracing, between steps; to end it waits for the device.
    void setCaptured(bool captured);
    /// Outbox thread: hands on what the device has passed, joins collectives, samples memory.
    void sample(bool everything);
    /// In live blocks of the device's allocator; outbox thread.
    [[nodiscard]] std::int64_t allocatedBytes() const { return m_memory->allocatedBytes(); }
    /// After the last step: waits for the device and tells everything.
    void finish();
    /// Of a run that has failed: fetches what was traced until then without waiting for the device.
    /// False: a broken device holds the tracer, and this object cannot be destroyed.
    [[nodiscard]] bool salvage();

    /// The run has failed: from now on no thread waits for the device. Any thread.
    void abandon() { m_abandoned = true; }

    /// Why a step failed, when the device knows: its memory ran out, or it is lost.
    [[nodiscard]] std::optional<run::RankFailed> diagnose();

private:
    GpuRank(const run::RankStart& start, capture::CaptureSession& session, Outbox& outbox,
            RecordingObserver& observer, GpuDevice device, capture::DeviceLevel level);

    // The stages of open() after the first.
    Result<void> openDevice(collectors::BlockUse (*use)());
    void connectObserver();
    [[nodiscard]] const DeviceFacts& factsByNow();
    void warnOfSharing();
    void startTelemetry();

    void followDevice(bool everything) SHARDSCOPE_REQUIRES(m_sampling);
    void tell(Diagnostic diagnostic);
    [[noreturn]] void endProcess(const std::string& sentence);

    const run::RankStart& m_start;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;
    RecordingObserver& m_observer;

    // In the order of open(); how they go says the destructor.
    GpuDevice m_device;
    GpuTracing m_tracing;
    std::optional<GpuContext> m_context;
    std::optional<GpuMemory> m_memory;
    std::unique_ptr<DeviceTelemetry> m_telemetry;  ///< null: no counters

    std::atomic<bool> m_abandoned{false};  ///< no thread waits for the device any more
    bool m_captured = true;                ///< step thread
    Mutex m_sampling;  ///< held by sample(): outbox thread, at the end the step's
};

}  // namespace shardscope::worker
