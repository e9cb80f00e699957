#include "engine/worker/gpu_tracing.h"

#include "engine/worker/failure_sentences.h"
#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/nccl/nccl_plugin.h"
#include "storage/model/host_clock.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <utility>

namespace shardscope::worker {

using capture::DeviceLevel;

DeviceLevel deviceLevelOf(const run::RunConfig& config) {
    switch (run::effectiveDeviceCapture(config)) {
        case run::DeviceCapture::kIdle:
            return DeviceLevel::kIdle;
        case run::DeviceCapture::kKernels:
            return DeviceLevel::kKernels;
        case run::DeviceCapture::kLaunches:
            return DeviceLevel::kLaunches;
        case run::DeviceCapture::kFull:
            return DeviceLevel::kFull;
        default:
            return DeviceLevel::kNever;
    }
}

GpuTracing::GpuTracing(DeviceLevel level, RankId rank, capture::CaptureSession& session,
                       Outbox& outbox)
    : m_level(level),
      m_session(session),
      m_outbox(outbox),
      m_join([&session](std::string_view text) { return session.intern(text); }),
      m_sink(session, m_join, outbox, rank) {}

GpuTracing::~GpuTracing() {
    disconnect();
}

void GpuTracing::start(GpuDevice& device, std::int32_t ranks) {
    DeviceFacts& facts = device.facts();
    if (m_level == DeviceLevel::kNever) {
        facts.tracing = "not traced: switched off";
        return;
    }
    collectors::DeviceCollectorStart started = device.module().startTracing(m_level, m_sink);
    m_collector = std::move(started.collector);
    if (m_collector) {
        facts.tracing = fmt::format("CUPTI {}", device.probe().cuptiVersion);
        capture::deviceAnnotator().store(&m_collector->annotator());
        if (m_level == DeviceLevel::kFull && ranks > 1) startProfiler();
    } else if (started.diagnostic) {
        facts.tracing = "not traced: " + started.diagnostic->message;
        m_sink.diagnostic(*started.diagnostic);
    }
}

void GpuTracing::startProfiler() {
    m_profiler = new collectors::NcclProfiler();
    collectors::NcclProfiler::install(ncclProfiler_v5.name != nullptr ? m_profiler : nullptr);
    m_join.expect(true);
}

void GpuTracing::setCaptured(bool captured) {
    if (m_collector) {
        m_collector->setLevel(captured ? m_level : DeviceLevel::kIdle);
        if (!captured) m_collector->flush(true);
    }
    if (m_profiler != nullptr) m_profiler->setRecording(captured);
    m_join.expect(captured && m_profiler != nullptr);
}

void GpuTracing::collect(bool everything, const Store& store) {
    m_join.collect(m_profiler, everything, store);
}

void GpuTracing::deviceIdle() {
    if (m_collector) m_collector->deviceIdle();
}

bool GpuTracing::flush(std::chrono::milliseconds atMost) {
    return !m_collector || m_collector->flush(true, atMost);
}

void GpuTracing::finish() {
    if (!m_collector) return;
    tellLosses();
    capture::deviceAnnotator().store(nullptr);
    m_collector.reset();
}

void GpuTracing::tellLosses() {
    const capture::DeviceCounts counts = m_collector->counts();
    for (Diagnostic& loss : lossDiagnostics(counts)) {
        loss.time = m_session.at(hostNow());
        m_sink.diagnostic(loss);
    }
    m_outbox.post(run::LogLine{"info", countsText(counts, m_join.counts())});
}

void GpuTracing::disconnect() {
    if (m_profiler != nullptr) m_profiler->setRecording(false);
    capture::deviceAnnotator().store(nullptr);
}

void CollectiveJoin::expect(bool kernels) {
    const MutexLock lock(m_mutex);
    m_expected = kernels;
}

void CollectiveJoin::report(const CollectiveEvent& event, std::uint64_t captured) {
    const MutexLock lock(m_mutex);
    m_reports.push_back({event, m_expected, captured});
}

void CollectiveJoin::kernel(const capture::CollectiveKernel& kernel) {
    const MutexLock lock(m_mutex);
    m_kernels.push_back(kernel);
}

collectors::NcclJoinCounts CollectiveJoin::counts() const {
    const MutexLock collecting(m_collecting);
    return m_join.counts();
}

void CollectiveJoin::collect(collectors::NcclProfiler* profiler, bool everything,
                             const std::function<void(const CollectiveEvent&)>& store) {
    const MutexLock collecting(m_collecting);
    Reports reports;
    Kernels kernels;
    {
        const MutexLock lock(m_mutex);
        reports = std::exchange(m_reports, {});
        kernels = std::exchange(m_kernels, {});
    }
    m_records.clear();
    if (profiler != nullptr) profiler->drain(m_records);
    for (const Report& report : reports)
        m_join.report(report.event, report.expected, report.captured);
    for (const collectors::NcclRecord& record : m_records) m_join.record(record);
    for (const capture::CollectiveKernel& kernel : kernels) m_join.kernel(kernel);
    m_complete.clear();
    m_join.take(m_complete, everything);
    for (const CollectiveEvent& event : m_complete) store(event);
}

}  // namespace shardscope::worker
