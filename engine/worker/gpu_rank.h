// The GPU side of a rank: device, tracing, NCCL, device memory, telemetry. Opened before LibTorch
// is asked anything about CUDA; lives as long as the process trains.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/collective_join.h"
#include "engine/worker/device_telemetry.h"
#include "engine/worker/device_timeline.h"
#include "engine/worker/gpu_device.h"
#include "engine/worker/outbox.h"
#include "engine/worker/recording_observer.h"
#include "engine/worker/session_sink.h"
#include "profiler/capture/capture_session.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/nccl/nccl_profiler.h"
#include "storage/model/result.h"

#include <c10/core/Device.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace shardscope::worker {

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
    [[nodiscard]] std::string deviceText() const { return m_device.text(); }
    [[nodiscard]] std::map<std::string, std::string> libraries() const {
        return m_device.libraries();
    }

    /// Joins the other ranks over NCCL; `host` carries NCCL's id to them. When a peer is lost
    /// later, the failure is reported and the process ended. Throws CommunicationError.
    std::unique_ptr<comm::Communicator> join(comm::Communicator& host);

    /// Times cuDNN's against FlashAttention's kernel at the run's shapes; true: cuDNN.
    [[nodiscard]] bool cudnnIsFaster();
    void useAttention(bool cudnn);

    /// The vendor's figure for the run's precision; when `measure`, matrix products at the run's
    /// own shapes as well.
    run::PeakMeasured peak(bool measure);

    /// Switches tracing, from the step thread, between steps.
    void setCaptured(bool captured);
    /// Outbox thread: hands on what the device has passed, joins collectives, samples memory.
    void sample(bool everything);
    /// Step thread, after the last step: waits for the device and tells everything.
    void finish();

    /// The run has failed: from now on nobody waits for the device. Any thread.
    void abandon() { m_abandoned = true; }

    /// Why a step failed, when the device knows: its memory ran out, or it is lost.
    [[nodiscard]] std::optional<run::RankFailed> diagnose();

private:
    GpuRank(const run::RankStart& start, capture::CaptureSession& session, Outbox& outbox,
            RecordingObserver& observer, GpuDevice device, capture::DeviceLevel level);
    void startTracing();
    void openDevice(collectors::BlockUse (*use)());
    void startTelemetry();
    void noteSharing();
    void noteLosses();
    [[noreturn]] void endProcess(const std::string& sentence);
    void sampleMemory();

    const run::RankStart& m_start;
    const RankId m_rank;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;
    RecordingObserver& m_observer;
    GpuDevice m_device;
    const capture::DeviceLevel m_level;

    CollectiveJoin m_join;
    SessionSink m_sink;
    collectors::NcclProfiler* m_profiler = nullptr;  ///< NCCL may call it until the process ends
    std::unique_ptr<collectors::DeviceCollector> m_tracing;
    control::DeviceRuntime* m_runtime = nullptr;
    std::optional<control::DeviceClock> m_clock;
    std::optional<DeviceTimeline> m_timeline;
    collectors::DeviceMemory* m_memory = nullptr;  ///< the allocator calls it until the end
    std::unique_ptr<DeviceTelemetry> m_telemetry;  ///< null: no counters
    std::atomic<bool> m_abandoned{false};          ///< nobody waits for the device any more
    std::mutex m_sampling;                         // held by sample()
    std::int64_t m_outsideBytes = -1;              // guarded by m_sampling
};

}  // namespace shardscope::worker
