#include "engine/worker/gpu_rank.h"

#include "engine/control/failure_sentence.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/device_kernels.h"
#include "engine/worker/failure_sentences.h"
#include "engine/worker/gpu_speed.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"
#include "storage/model/rank_facts.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace shardscope::worker {
namespace {

constexpr std::chrono::seconds kLastWords{5};
/// For a tracer to hand over what it has; it takes milliseconds unless the device holds it.
constexpr std::chrono::seconds kLastFlush{2};
constexpr std::chrono::hours kForever{24};

/// Operators of LibTorch and our own, as the run multiplies.
void useKernels(const CudaModule& module, run::Precision precision) {
    kernels::useDeviceKernels(module.kernels);
    at::globalContext().setAllowTF32CuBLAS(precision == run::Precision::kTf32);
}

/// Smaller changes are not worth an event.
constexpr std::int64_t kOutsideStep = std::int64_t{1} << 20;

collectors::DeviceMemory& blocksOf(std::int32_t device, collectors::BlockUse (*use)()) {
    collectors::DeviceMemoryOptions options;
    options.device = device;
    return *new collectors::DeviceMemory(options, use);
}

}  // namespace

Result<std::unique_ptr<GpuRank>> GpuRank::open(const run::RankStart& start,
                                               capture::CaptureSession& session, Outbox& outbox,
                                               RecordingObserver& observer,
                                               collectors::BlockUse (*use)()) {
    const capture::DeviceLevel level = deviceLevelOf(start.config);
    auto device = GpuDevice::find(start, level);
    if (!device) return failure(device);
    auto rank = std::unique_ptr<GpuRank>(
        new GpuRank(start, session, outbox, observer, std::move(*device), level));
    rank->m_tracing.start(rank->m_device, start.worldSize());  // before there is a CUDA context
    if (auto opened = rank->openDevice(use); !opened) return failure(opened);
    rank->connectObserver();
    rank->warnOfSharing();
    rank->startTelemetry();
    return rank;
}

GpuRank::GpuRank(const run::RankStart& start, capture::CaptureSession& session, Outbox& outbox,
                 RecordingObserver& observer, GpuDevice device, capture::DeviceLevel level)
    : m_start(start),
      m_session(session),
      m_outbox(outbox),
      m_observer(observer),
      m_device(std::move(device)),
      m_tracing(level, m_device.facts().rank, session, outbox) {}

/// First nothing calls in any more: NCCL, launches, the allocator. Then what tells the tracing's
/// sink and what the tracer sees end: telemetry's thread, the device's events. The tracing itself,
/// with the sink, is last: it still tells what came in between.
GpuRank::~GpuRank() {
    m_tracing.disconnect();
    m_memory.reset();
    m_telemetry.reset();
    m_context.reset();
}

Result<void> GpuRank::openDevice(collectors::BlockUse (*use)()) {
    try {
        m_context.emplace(m_device);
        control::DeviceRuntime& runtime = m_context->runtime;
        // For all that follows, so that memory belongs to the one stream.
        if (m_start.config.graphs) runtime.computeOn(runtime.createStream(false));
        useKernels(m_device.module(), m_start.config.precision);
        m_memory.emplace(m_device, m_session, use);
    } catch (const control::DeviceError& error) {
        return failure(ErrorCode::kLaunch, fmt::format("{} cannot be opened: {}", deviceText(),
                                                       control::sentenceOf(error)));
    }
    return {};
}

void GpuRank::connectObserver() {
    m_observer.timeOn(m_context->timeline);
    m_observer.account().readDevicePeakBy([this] { return m_memory->takePeak(); });
    m_observer.collectives().handTo([this](const CollectiveEvent& event, std::uint64_t captured) {
        m_tracing.report(event, captured);
    });
    m_observer.watchIdle([this] { return m_tracing.wantsIdle(); },
                         [this] { m_tracing.deviceIdle(); });
}

void GpuRank::warnOfSharing() {
    if (m_device.facts().sharedBy < 2 || m_start.localRank() != 0) return;
    tell(sharedDeviceWarning(m_device.facts()));
}

void GpuRank::startTelemetry() {
    if (m_start.config.capture < CaptureLevel::kLight) return;
    DeviceFacts& facts = m_device.facts();
    auto telemetry = DeviceTelemetry::start(facts.pciBusId, m_tracing.sink());
    if (!telemetry) {
        tell(noTelemetryNote(telemetry.error().message));
        return;
    }
    m_telemetry = std::move(*telemetry);
    facts.driver = m_telemetry->driver();
    facts.mig = facts.mig || m_telemetry->mig();
}

void GpuRank::tell(Diagnostic diagnostic) {
    diagnostic.time = m_session.at(hostNow());
    m_tracing.sink().diagnostic(diagnostic);
}

std::unique_ptr<comm::Communicator> GpuRank::join(const RankLinks& links) {
    return startNccl(links, {m_device, m_context->runtime, m_context->clock, m_observer},
                     std::chrono::seconds(m_start.config.collectiveTimeout),
                     [this](const std::string& sentence) { endProcess(sentence); });
}

/// The step thread may hang in the driver for ever: what is known is sent, then the process goes.
void GpuRank::endProcess(const std::string& sentence) {
    static_cast<void>(m_outbox.fail({ErrorCode::kRank, sentence}, "peer-lost"));
    m_abandoned = true;
    std::thread([] {
        std::this_thread::sleep_for(kLastWords);
        std::_Exit(exitStatus({ErrorCode::kRank, ""}));
    }).detach();
    m_tracing.flush(kLastFlush);
    m_outbox.finish();
    std::_Exit(exitStatus({ErrorCode::kRank, ""}));
}

bool GpuRank::cudnnIsFaster() {
    return worker::cudnnIsFaster(m_start.config, device(), m_context->timeline);
}

void GpuRank::useAttention(bool cudnn) {
    kernels::useDeviceAttention(cudnn ? kernels::DeviceAttention::kCudnn
                                      : kernels::DeviceAttention::kFlash2);
    const at::Tensor qkv = attentionInput(m_start.config, device()).set_requires_grad(true);
    m_device.facts().attention =
        kernels::deviceAttentionInUse(qkv, m_start.config.batch, m_start.config.model.heads);
    m_outbox.post(run::DeviceReported{factsByNow()});
}

/// The clock's error grows with each wider reference.
const DeviceFacts& GpuRank::factsByNow() {
    m_device.facts().clockErrorNs = m_context->clock.errorNs();
    return m_device.facts();
}

run::PeakMeasured GpuRank::peak(bool measure) {
    DeviceFacts& facts = m_device.facts();
    facts.measuredPeakSource = "not measured: calibration was switched off";
    if (measure) {
        const control::PhaseScope scope(&m_observer, Phase::kCalibration, kNoLayer);
        measurePeak(m_device.module(), m_start.config, facts);
    }
    lookUpPeak(m_start.config.precision, facts);
    m_outbox.post(run::DeviceReported{factsByNow()});
    return peakOf(facts);
}

double GpuRank::productRate(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                            run::Precision precision, double seconds) const {
    return worker::productRate(m_device.module(), {rows, inner, columns}, precision, seconds);
}

void GpuRank::followDevice(bool everything) {
    try {
        m_observer.tellPassed(everything);
        m_memory->sample(m_context->runtime, m_telemetry.get());
    } catch (const control::DeviceError&) {
        return;  // the step thread or the watcher meets it too, and reports it
    }
}

void GpuRank::setCaptured(bool captured) {
    if (std::exchange(m_captured, captured) == captured) return;
    try {
        if (!captured) m_context->runtime.synchronizeAll();
    } catch (const control::DeviceError&) {
        return;  // the step meets it too, and reports it
    }
    m_tracing.setCaptured(captured);
}

void GpuRank::sample(bool everything) {
    const MutexLock lock(m_sampling);
    followDevice(everything && !m_abandoned);
    m_tracing.collect(everything, [this](const CollectiveEvent& event) {
        m_observer.collectives().store(event);
    });
}

/// Collectives wait for their kernels until the tracer's buffers are empty, and no longer.
void GpuRank::finish() {
    {
        const MutexLock lock(m_sampling);
        followDevice(!m_abandoned);
    }
    m_tracing.flush(kForever);
    sample(true);
    m_tracing.finish();
    m_outbox.post(run::DeviceReported{factsByNow()});
}

bool GpuRank::salvage() {
    return m_tracing.flush(kLastFlush);
}

std::optional<run::RankFailed> GpuRank::diagnose() {
    if (const auto outOfMemory = m_memory->takeOutOfMemory())
        return run::RankFailed{.message = outOfMemoryText(*outOfMemory, m_device.facts()),
                               .code = "out-of-memory"};
    try {
        static_cast<void>(m_context->runtime.memory());
    } catch (const control::DeviceError& error) {
        return run::RankFailed{
            .message = fmt::format("{} failed: {}; `dmesg | grep -i xid` says why, and the process "
                                   "must be started anew",
                                   deviceText(), control::sentenceOf(error)),
            .code = "device-lost"};
    }
    return std::nullopt;
}

GpuMemory::GpuMemory(const GpuDevice& device, capture::CaptureSession& session,
                     collectors::BlockUse (*use)())
    : m_session(session), m_blocks(blocksOf(device.index(), use)) {
    collectors::DeviceMemory::install(&m_blocks);
    device.module().traceAllocations(collectors::DeviceMemory::hook());
    m_blocks.attach(&session);
    session.declareLane(lanes::kDeviceReserved);
}

GpuMemory::~GpuMemory() {
    m_blocks.attach(nullptr);
}

void GpuMemory::sample(control::DeviceRuntime& runtime, const DeviceTelemetry* telemetry) {
    if (!m_session.detailed()) return;
    const control::DeviceMemory memory = runtime.memory();
    m_session.push(CounterEvent{m_session.at(hostNow()), lanes::kDeviceReserved.id,
                                static_cast<double>(memory.reservedBytes)});
    const auto own = telemetry != nullptr ? telemetry->ownMemory() : std::nullopt;
    const std::int64_t used = own ? own->count : memory.totalBytes - memory.freeBytes;
    const std::int64_t outside = std::max<std::int64_t>(0, used - memory.reservedBytes);
    if (m_outsideBytes >= 0 && std::abs(outside - m_outsideBytes) < kOutsideStep) return;
    m_outsideBytes = outside;
    m_blocks.setOutsideBytes(outside);
}

Result<std::unique_ptr<DeviceTelemetry>> DeviceTelemetry::start(const std::string& pciBusId,
                                                                capture::DeviceSink& sink) {
    auto library = collectors::NvmlLibrary::open();
    if (!library) return failure(library);
    std::unique_ptr<DeviceTelemetry> telemetry(new DeviceTelemetry(std::move(*library)));
    const collectors::NvmlApi& api = telemetry->m_library.api();
    if (auto driver = collectors::nvmlDriverVersion(api)) telemetry->m_driver = *driver;
    auto device = collectors::nvmlDevice(api, pciBusId);
    if (!device) return failure(device);
    telemetry->m_mig = device->mig;
    telemetry->m_sampler.emplace(api, *device, ::getpid(), sink);
    telemetry->m_thread.emplace(*telemetry->m_sampler);
    return telemetry;
}

}  // namespace shardscope::worker
