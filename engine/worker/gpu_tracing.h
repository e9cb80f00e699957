// What traces a GPU rank: CUPTI's collector, NCCL's profiler, and the join of what both tell with
// what the communicator reports.
//
// The step thread starts, switches and ends it; the watcher reports; decoder threads fill the sink;
// the outbox thread collects.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/worker/collective_join.h"
#include "engine/worker/gpu_device.h"
#include "engine/worker/outbox.h"
#include "engine/worker/session_sink.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/device_collector.h"
#include "profiler/collectors/nccl/nccl_profiler.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace shardscope::worker {

[[nodiscard]] capture::DeviceLevel deviceLevelOf(const run::RunConfig& config);

class GpuTracing {
public:
    using Store = std::function<void(const CollectiveEvent&)>;

    /// Nothing is traced yet. `session` and `outbox` outlive it.
    GpuTracing(capture::DeviceLevel level, RankId rank, capture::CaptureSession& session,
               Outbox& outbox);
    ~GpuTracing();
    GpuTracing(const GpuTracing&) = delete;
    GpuTracing& operator=(const GpuTracing&) = delete;

    // Step thread.

    /// Before the first CUDA call that creates a context. Notes in the device's facts what traces
    /// it, or why nothing does.
    void start(GpuDevice& device, std::int32_t ranks);
    /// Between steps, on an idle device: what was traced until here is told.
    void setCaptured(bool captured);
    /// An idle device is a good moment to fetch what it has finished; is it time for one?
    [[nodiscard]] bool wantsIdle() const { return m_collector && m_collector->wantsIdle(); }
    void deviceIdle();
    /// What is still in the tracer's buffers comes to the sink and the join. False: not within
    /// `atMost`, since a broken device holds the tracer; then this object cannot be destroyed.
    bool flush(std::chrono::milliseconds atMost);
    /// Everything is collected: tells what was lost, and ends the collector.
    void finish();
    /// Nobody calls in from NCCL or from launches any more; what was traced is still told.
    void disconnect();

    /// Collectives wait here for their kernels; any thread.
    void report(const CollectiveEvent& event, std::uint64_t captured) {
        m_join.report(event, captured);
    }
    /// Hands on those that are complete or have waited long enough, or all. One thread at a time.
    void collect(bool everything, const Store& store);

    /// Where other collectors tell as well; any thread.
    [[nodiscard]] SessionSink& sink() { return m_sink; }

private:
    void startProfiler();
    void tellLosses();

    const capture::DeviceLevel m_level;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;
    CollectiveJoin m_join;
    SessionSink m_sink;
    collectors::NcclProfiler* m_profiler = nullptr;  ///< never deleted: NCCL may call it until exit
    std::unique_ptr<collectors::DeviceCollector> m_collector;  ///< after the sink it drains into
};

}  // namespace shardscope::worker
