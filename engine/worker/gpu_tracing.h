// What traces a GPU rank: CUPTI's collector, NCCL's profiler, and the join of what both tell with
// what the communicator reports.
//
// The step thread starts, switches and ends it; the watcher reports; decoder threads fill the sink;
// the outbox thread collects.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/worker/gpu_device.h"
#include "engine/worker/outbox.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/device_collector.h"
#include "profiler/collectors/nccl/nccl_join.h"
#include "profiler/collectors/nccl/nccl_profiler.h"
#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace shardscope::worker {

// Brings the three words about a GPU collective together: the communicator's report (watcher
// thread), the tracer's kernel (decoder thread) and NCCL's profiler records (any thread).
//
// The first two are only put down under a lock; collect() does the work, on the outbox thread or,
// at the end, the step thread.

class CollectiveJoin {
public:
    explicit CollectiveJoin(std::function<StringId(std::string_view)> intern)
        : m_join(std::move(intern)) {}

    /// Whether NCCL and the tracer will tell of collectives reported from now on.
    void expect(bool kernels);
    /// `captured`: CollectiveReport's.
    void report(const CollectiveEvent& event, std::uint64_t captured = 0);
    void kernel(const capture::CollectiveKernel& kernel);

    /// Hands what is complete, or will not be any more, to `store`; everything when `everything`.
    /// `profiler` may be null.
    void collect(collectors::NcclProfiler* profiler, bool everything,
                 const std::function<void(const CollectiveEvent&)>& store);

    /// Of what was collected so far; any thread.
    [[nodiscard]] collectors::NcclJoinCounts counts() const;

private:
    struct Report {
        CollectiveEvent event;
        bool expected = false;  ///< its kernel is
        std::uint64_t captured = 0;
    };
    using Reports = std::vector<Report>;
    using Kernels = std::vector<capture::CollectiveKernel>;

    Mutex m_mutex;  ///< held for moments
    bool m_expected SHARDSCOPE_GUARDED_BY(m_mutex) = false;
    Reports m_reports SHARDSCOPE_GUARDED_BY(m_mutex);
    Kernels m_kernels SHARDSCOPE_GUARDED_BY(m_mutex);

    mutable Mutex m_collecting;  ///< held by collect(); before m_mutex
    collectors::NcclJoin m_join SHARDSCOPE_GUARDED_BY(m_collecting);
    std::vector<collectors::NcclRecord> m_records SHARDSCOPE_GUARDED_BY(m_collecting);
    std::vector<CollectiveEvent> m_complete SHARDSCOPE_GUARDED_BY(m_collecting);
};

// Where the device tracer's finds go: the rank's capture session, the collectives' join, and
// diagnostics to the recorder.

/// All references outlive it.
class SessionSink final : public capture::DeviceSink {
public:
    SessionSink(capture::CaptureSession& session, CollectiveJoin& join, Outbox& outbox, RankId rank)
        : m_session(session), m_join(join), m_outbox(outbox), m_rank(rank) {}

    [[nodiscard]] Timestamp at(std::int64_t hostNs) const override { return m_session.at(hostNs); }
    StringId intern(std::string_view text) override { return m_session.intern(text); }
    [[nodiscard]] std::string text(StringId id) const override { return m_session.text(id); }
    void declareLane(LaneId lane, LaneRole role, const std::string& name,
                     const std::string& unit) override {
        m_session.declareLane(lane, role, name, unit);
    }
    void spans(const std::vector<SpanEvent>& spans) override { m_session.push(spans); }
    void counters(const std::vector<CounterEvent>& counters) override {
        for (const CounterEvent& counter : counters) m_session.push(counter);
    }
    void collectiveKernel(const capture::CollectiveKernel& kernel) override {
        m_join.kernel(kernel);
    }
    void diagnostic(const Diagnostic& diagnostic) override {
        Diagnostic own = diagnostic;
        own.rank = m_rank;
        m_outbox.post(run::DiagnosticRaised{own});
    }

private:
    capture::CaptureSession& m_session;
    CollectiveJoin& m_join;
    Outbox& m_outbox;
    const RankId m_rank;
};

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
    /// Between steps, on an idle device: what was traced until here is reported.
    void setCaptured(bool captured);
    /// An idle device is a good moment to fetch what it has finished; is it time for one?
    [[nodiscard]] bool wantsIdle() const { return m_collector && m_collector->wantsIdle(); }
    void deviceIdle();
    /// What is still in the tracer's buffers comes to the sink and the join. False: not within
    /// `atMost`, since a broken device holds the tracer; then this object cannot be destroyed.
    bool flush(std::chrono::milliseconds atMost);
    /// Everything is collected: tells what was lost, and ends the collector.
    void finish();
    /// Nothing calls in from NCCL or from launches any more; what was traced is still reported.
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
