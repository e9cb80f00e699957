#include "engine/worker/gpu_rank.h"

#include "engine/control/failure_sentence.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/device_kernels.h"
#include "engine/worker/device_attention.h"
#include "engine/worker/gpu_peak.h"
#include "engine/worker/gpu_sentences.h"
#include "engine/worker/nccl_start.h"
#include "profiler/collectors/nccl/nccl_plugin.h"
#include "storage/model/host_clock.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace shardscope::worker {
namespace {

using capture::DeviceLevel;

constexpr std::int64_t kOutsideStep = std::int64_t{1}
                                      << 20;  ///< smaller changes are not worth an event
constexpr std::chrono::seconds kLastWords{5};

DeviceLevel levelOf(const run::RunConfig& config) {
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

}  // namespace

Result<std::unique_ptr<GpuRank>> GpuRank::open(const run::RankStart& start,
                                               capture::CaptureSession& session, Outbox& outbox,
                                               RecordingObserver& observer,
                                               collectors::BlockUse (*use)()) {
    const DeviceLevel level = levelOf(start.config);
    auto device = GpuDevice::find(start, level);
    if (!device) return failure(device);
    auto rank = std::unique_ptr<GpuRank>(
        new GpuRank(start, session, outbox, observer, std::move(*device), level));
    rank->startTracing();
    try {
        rank->openDevice(use);
    } catch (const control::DeviceError& error) {
        return failure(
            ErrorCode::kLaunch,
            fmt::format("{} cannot be opened: {}", rank->deviceText(), control::sentenceOf(error)));
    }
    rank->noteSharing();
    rank->startTelemetry();
    return rank;
}

GpuRank::GpuRank(const run::RankStart& start, capture::CaptureSession& session, Outbox& outbox,
                 RecordingObserver& observer, GpuDevice device, DeviceLevel level)
    : m_start(start),
      m_rank{static_cast<std::uint32_t>(start.rank)},
      m_session(session),
      m_outbox(outbox),
      m_observer(observer),
      m_device(std::move(device)),
      m_level(level),
      m_join([&session](std::string_view text) { return session.intern(text); }),
      m_sink(session, m_join, outbox, m_rank) {}

GpuRank::~GpuRank() {
    if (m_profiler != nullptr) m_profiler->setRecording(false);
    if (m_memory != nullptr) m_memory->attach(nullptr);
    capture::deviceAnnotator().store(nullptr);
}

/// Before the first CUDA call that creates a context.
void GpuRank::startTracing() {
    if (m_level == DeviceLevel::kNever) {
        m_device.facts().tracing = "not traced: switched off";
        return;
    }
    collectors::DeviceCollectorStart started = m_device.module().startTracing(m_level, m_sink);
    m_tracing = std::move(started.collector);
    if (m_tracing) {
        m_device.facts().tracing = fmt::format("CUPTI {}", m_device.probe().cuptiVersion);
        capture::deviceAnnotator().store(&m_tracing->annotator());
    } else if (started.diagnostic) {
        m_device.facts().tracing = "not traced: " + started.diagnostic->message;
        m_sink.diagnostic(*started.diagnostic);
    }
    const bool profiled = m_tracing && m_level == DeviceLevel::kFull && m_start.worldSize > 1;
    if (!profiled) return;
    m_profiler = new collectors::NcclProfiler();  // NCCL may call it until the process ends
    collectors::NcclProfiler::install(ncclProfiler_v5.name != nullptr ? m_profiler : nullptr);
    m_join.expect(true);
}

void GpuRank::openDevice(collectors::BlockUse (*use)()) {
    m_runtime = &m_device.module().openDevice(m_device.index());
    m_clock.emplace(*m_runtime);
    m_timeline.emplace(*m_runtime, *m_clock);
    kernels::useDeviceKernels(m_device.module().kernels);
    at::globalContext().setAllowTF32CuBLAS(m_start.config.precision == run::Precision::kTf32);

    collectors::DeviceMemoryOptions options;
    options.device = m_device.index();
    m_memory = new collectors::DeviceMemory(options, use);  // see m_memory
    collectors::DeviceMemory::install(m_memory);
    m_device.module().traceAllocations(collectors::DeviceMemory::hook());
    m_memory->attach(&m_session);
    m_session.declareLane(lanes::kDeviceReserved);

    m_observer.timeOn(*m_timeline);
    m_observer.account().readDevicePeakBy([this] { return m_memory->takePeakAllocatedBytes(); });
    m_observer.collectives().handTo([this](const CollectiveEvent& event) { m_join.report(event); });
    m_device.facts().clockErrorNs = m_clock->errorNs();
}

void GpuRank::startTelemetry() {
    if (m_start.config.capture < CaptureLevel::kLight) return;
    auto telemetry = DeviceTelemetry::start(m_device.facts().pciBusId, m_sink);
    if (!telemetry) {
        m_sink.diagnostic(
            {Severity::kNote, "no-device-telemetry",
             "power, clocks and links of the device are not recorded: " + telemetry.error().message,
             "Look at nvidia-smi.", m_rank, m_session.at(hostNow()), 1});
        return;
    }
    m_telemetry = std::move(*telemetry);
    m_device.facts().driver = m_telemetry->driver();
    m_device.facts().mig = m_device.facts().mig || m_telemetry->mig();
}

void GpuRank::noteSharing() {
    if (m_device.facts().sharedBy < 2 || m_start.rank != 0) return;
    m_sink.diagnostic({Severity::kWarning, "shared-device",
                       fmt::format("shared device: {} ranks use one {}; their kernels take turns, "
                                   "so no time in this recording says how fast the run would be on "
                                   "a device each",
                                   m_device.facts().sharedBy, m_device.facts().name),
                       "Use one GPU per rank for figures of speed.", m_rank,
                       m_session.at(hostNow()), 1});
}

std::unique_ptr<comm::Communicator> GpuRank::join(comm::Communicator& host) {
    return startNccl(host, {m_device, *m_runtime, *m_clock, m_observer},
                     std::chrono::seconds(m_start.config.collectiveTimeout),
                     [this](const std::string& sentence) { endProcess(sentence); });
}

/// The step thread may hang in the driver for ever: what is known is told, then the process goes.
void GpuRank::endProcess(const std::string& sentence) {
    run::RankFailed failed;
    failed.code = "peer-lost";
    failed.message = sentence;
    m_outbox.post(failed);
    m_abandoned = true;
    std::thread([] {
        std::this_thread::sleep_for(kLastWords);
        std::_Exit(exitStatus({ErrorCode::kRank, ""}));
    }).detach();
    m_outbox.finish();
    std::_Exit(exitStatus({ErrorCode::kRank, ""}));
}

bool GpuRank::cudnnIsFaster() {
    return worker::cudnnIsFaster(m_start.config, device(), *m_timeline);
}

void GpuRank::useAttention(bool cudnn) {
    kernels::useDeviceAttention(cudnn ? kernels::DeviceAttention::kCudnn
                                      : kernels::DeviceAttention::kFlash2);
    const at::Tensor qkv = attentionInput(m_start.config, device()).set_requires_grad(true);
    m_device.facts().attention =
        kernels::deviceAttentionInUse(qkv, m_start.config.batch, m_start.config.model.heads);
    m_outbox.post(run::DeviceReported{m_device.facts()});
}

run::PeakMeasured GpuRank::peak(bool measure) {
    DeviceFacts& facts = m_device.facts();
    facts.measuredPeakSource = "not measured: calibration was switched off";
    if (measure) {
        const control::PhaseScope scope(&m_observer, Phase::kCalibration, kNoLayer);
        measurePeak(m_device.module(), m_start.config, facts);
    }
    lookUpPeak(m_start.config.precision, facts);
    m_outbox.post(run::DeviceReported{facts});
    return peakOf(facts);
}

void GpuRank::setCaptured(bool captured) {
    if (m_tracing) m_tracing->setLevel(captured ? m_level : DeviceLevel::kIdle);
    if (m_profiler != nullptr) m_profiler->setRecording(captured);
    m_join.expect(captured && m_profiler != nullptr);
}

/// Memory that is in use beyond the allocator's reserve: CUDA context, NCCL, libraries. Where the
/// driver does not say what is this process's, it includes other processes'.
void GpuRank::sampleMemory() {
    if (!m_session.detailed()) return;
    const control::DeviceMemory memory = m_runtime->memory();
    m_session.push(CounterEvent{m_session.at(hostNow()), lanes::kDeviceReserved.id,
                                static_cast<double>(memory.reservedBytes)});
    const auto own = m_telemetry ? m_telemetry->ownMemory() : std::nullopt;
    const std::int64_t used = own ? own->count : memory.totalBytes - memory.freeBytes;
    const std::int64_t outside = std::max<std::int64_t>(0, used - memory.reservedBytes);
    if (m_outsideBytes >= 0 && std::abs(outside - m_outsideBytes) < kOutsideStep) return;
    m_outsideBytes = outside;
    m_memory->setOutsideBytes(outside);
}

void GpuRank::sample(bool everything) {
    const std::lock_guard lock(m_sampling);
    if (m_abandoned) everything = false;
    try {
        m_observer.tellPassed(everything);
        sampleMemory();
    } catch (const control::DeviceError&) {
        return;  // the step thread or the watcher meets it too, and reports it
    }
    m_join.collect(m_profiler, m_session.at(hostNow()), everything,
                   [this](const CollectiveEvent& event) { m_observer.collectives().store(event); });
}

void GpuRank::finish() {
    sample(true);
    if (m_tracing) {
        m_tracing->flush(true);
        noteLosses();
        capture::deviceAnnotator().store(nullptr);
        m_tracing.reset();
    }
    sample(true);
}

void GpuRank::noteLosses() {
    const capture::DeviceCounts counts = m_tracing->counts();
    for (const Diagnostic& diagnostic : lossDiagnostics(counts)) {
        Diagnostic own = diagnostic;
        own.time = m_session.at(hostNow());
        m_sink.diagnostic(own);
    }
    m_outbox.post(run::LogLine{"info", countsText(counts, m_join.counts())});
}

std::optional<run::RankFailed> GpuRank::diagnose() {
    if (m_memory == nullptr) return std::nullopt;
    run::RankFailed failed;
    if (const auto outOfMemory = m_memory->takeOutOfMemory()) {
        failed.code = "out-of-memory";
        failed.message = outOfMemoryText(*outOfMemory, m_device.facts());
        return failed;
    }
    try {
        static_cast<void>(m_runtime->memory());
    } catch (const control::DeviceError& error) {
        failed.code = "device-lost";
        failed.message = fmt::format(
            "{} failed: {}; `dmesg | grep -i xid` says why, and the process must be started anew",
            deviceText(), control::sentenceOf(error));
        return failed;
    }
    return std::nullopt;
}

}  // namespace shardscope::worker
