#include "engine/worker/gpu_rank.h"

#include "engine/comm/direct_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/control/failure_sentence.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/device_kernels.h"
#include "engine/kernels/note_tensor.h"
#include "engine/run/theory/device_peaks.h"
#include "engine/worker/cuda_library.h"
#include "engine/worker/device_attention.h"
#include "engine/worker/gpu_sentences.h"
#include "profiler/capture/collective_annotation.h"
#include "profiler/collectors/nccl/nccl_plugin.h"
#include "storage/model/host_clock.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace shardscope::worker {
namespace {

using capture::DeviceLevel;

constexpr std::int64_t kOutsideStep = std::int64_t{1}
                                      << 20;  ///< smaller changes are not worth an event
constexpr double kPeakSeconds = 0.4;
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

/// Read by NCCL and LibTorch when they are first used.
void setEnvironment(const run::RankStart& start, DeviceLevel level) {
    ::setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 0);
    if (level >= DeviceLevel::kFull) ::setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
    // NCCL refuses two ranks on one device when they are on one host by this name.
    if (start.config.shareDevice) {
        ::setenv("NCCL_HOSTID", fmt::format("shardscope-rank-{}", start.rank).c_str(), 1);
    }
}

void annotate(std::uint32_t group, std::uint64_t sequence) {
    capture::threadCollective() = {group, sequence};
}

}  // namespace

Result<std::unique_ptr<GpuRank>> GpuRank::open(const run::RankStart& start,
                                               capture::CaptureSession& session, Outbox& outbox,
                                               RecordingObserver& observer,
                                               collectors::BlockUse (*use)()) {
    auto rank = std::unique_ptr<GpuRank>(new GpuRank(start, session, outbox, observer));
    if (auto found = rank->findDevice(); !found) return failure(found);
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
                 RecordingObserver& observer)
    : m_start(start),
      m_rank{static_cast<std::uint32_t>(start.rank)},
      m_session(session),
      m_outbox(outbox),
      m_observer(observer),
      m_level(levelOf(start.config)),
      m_join([&session](std::string_view text) { return session.intern(text); }),
      m_sink(session, m_join, outbox, m_rank) {}

GpuRank::~GpuRank() {
    if (m_profiler != nullptr) m_profiler->setRecording(false);
    if (m_memory != nullptr) m_memory->attach(nullptr);
    capture::deviceAnnotator().store(nullptr);
}

Result<void> GpuRank::findDevice() {
    setEnvironment(m_start, m_level);
    auto module = loadCudaModule();
    if (!module) return failure(ErrorCode::kLaunch, run::sentence(module.error()));
    m_module = *module;
    m_probe = m_module->probe();
    if (const run::Obstacle why = whyNoDevice(m_probe); !why.none())
        return failure(ErrorCode::kLaunch, run::sentence(why));
    auto index = chooseDevice(m_probe, m_start.rank, m_start.worldSize, m_start.config.shareDevice);
    if (!index) return failure(index);
    m_index = *index;
    const DeviceProperties& device = m_probe.devices[static_cast<std::size_t>(m_index)];
    m_facts.rank = m_rank;
    m_facts.name = device.name;
    m_facts.uuid = device.uuid;
    m_facts.pciBusId = device.pciBusId;
    m_facts.memory = {device.memoryBytes};
    m_facts.mig = device.name.find(" MIG ") != std::string::npos;
    const auto devices = static_cast<std::int32_t>(m_probe.devices.size());
    m_facts.sharedBy = (m_start.worldSize - m_index + devices - 1) / devices;
    return {};
}

/// Before the first CUDA call that creates a context.
void GpuRank::startTracing() {
    if (m_level == DeviceLevel::kNever) {
        m_facts.tracing = "not traced: switched off";
        return;
    }
    collectors::DeviceCollectorStart started = m_module->startTracing(m_level, m_sink);
    m_tracing = std::move(started.collector);
    if (m_tracing) {
        m_facts.tracing = fmt::format("CUPTI {}", m_probe.cuptiVersion);
        capture::deviceAnnotator().store(&m_tracing->annotator());
    } else if (started.diagnostic) {
        m_facts.tracing = "not traced: " + started.diagnostic->message;
        m_sink.diagnostic(*started.diagnostic);
    }
    const bool profiled = m_tracing && m_level == DeviceLevel::kFull && m_start.worldSize > 1;
    if (!profiled) return;
    m_profiler = new collectors::NcclProfiler();  // NCCL may call it until the process ends
    collectors::NcclProfiler::install(ncclProfiler_v5.name != nullptr ? m_profiler : nullptr);
    m_join.expect(true);
}

void GpuRank::openDevice(collectors::BlockUse (*use)()) {
    m_runtime = &m_module->openDevice(m_index);
    m_clock.emplace(*m_runtime);
    m_timeline.emplace(*m_runtime, *m_clock);
    kernels::useDeviceKernels(m_module->kernels);
    at::globalContext().setAllowTF32CuBLAS(m_start.config.precision == run::Precision::kTf32);

    collectors::DeviceMemoryOptions options;
    options.device = m_index;
    m_memory = new collectors::DeviceMemory(options, use);  // see m_memory
    collectors::DeviceMemory::install(m_memory);
    m_module->traceAllocations(collectors::DeviceMemory::hook());
    m_memory->attach(&m_session);
    m_session.declareLane(lanes::kDeviceReserved);

    m_observer.timeOn(*m_timeline);
    m_observer.account().readDevicePeakBy([this] { return m_memory->takePeakAllocatedBytes(); });
    m_observer.collectives().handTo(
        [this](const CollectiveEvent& event) { m_join.report(event); });
    m_facts.clockErrorNs = m_clock->errorNs();
}

void GpuRank::startTelemetry() {
    if (m_start.config.capture < CaptureLevel::kLight) return;
    auto telemetry = DeviceTelemetry::start(m_facts.pciBusId, m_sink);
    if (!telemetry) {
        m_sink.diagnostic(
            {Severity::kNote, "no-device-telemetry",
             "power, clocks and links of the device are not recorded: " + telemetry.error().message,
             "Look at nvidia-smi.", m_rank, m_session.at(hostNow()), 1});
        return;
    }
    m_telemetry = std::move(*telemetry);
    m_facts.driver = m_telemetry->driver();
    m_facts.mig = m_facts.mig || m_telemetry->mig();
}

at::Device GpuRank::device() const {
    const at::Device any(m_module->tensorDevice);
    return {any.type(), static_cast<at::DeviceIndex>(any.is_cpu() ? -1 : m_index)};
}

std::string GpuRank::deviceText() const {
    std::string text = fmt::format("{} ({})", m_facts.name, m_facts.pciBusId);
    if (m_facts.sharedBy > 1) text += fmt::format(", shared device of {} ranks", m_facts.sharedBy);
    return text;
}

std::map<std::string, std::string> GpuRank::libraries() const {
    const auto dotted = [](std::int32_t version) {
        return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    };
    const std::int32_t nccl = m_probe.ncclVersion;
    return {{"CUDA driver", dotted(m_probe.driverVersion)},
            {"CUDA runtime", dotted(m_probe.runtimeVersion)},
            {"CUPTI", std::to_string(m_probe.cuptiVersion)},
            {"NCCL", fmt::format("{}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100)}};
}

void GpuRank::noteSharing() {
    if (m_facts.sharedBy < 2 || m_start.rank != 0) return;
    m_sink.diagnostic({Severity::kWarning, "shared-device",
                       fmt::format("shared device: {} ranks use one {}; their kernels take turns, "
                                   "so no time in this recording says how fast the run would be on "
                                   "a device each",
                                   m_facts.sharedBy, m_facts.name),
                       "Use one GPU per rank for figures of speed.", m_rank, m_session.at(hostNow()),
                       1});
}

std::unique_ptr<comm::Communicator> GpuRank::join(comm::Communicator& host) {
    // NCCL's id is rank 0's to give; it travels through the host's shared memory.
    const comm::SymmetricBuffer shared = host.allocate(sizeof(comm::NcclUniqueId), DataType::kByte);
    comm::NcclSetup setup;
    if (host.rank() == 0) {
        if (const int result = m_module->nccl->uniqueId(&setup.id); result != comm::kNcclSuccess) {
            throw comm::CommunicationError(
                fmt::format("NCCL gives no id: {}", m_module->nccl->errorText(result)));
        }
        std::memcpy(shared.local, setup.id.data(), setup.id.size());
    }
    host.broadcast(shared, 0, {Cause::kStart}).wait();
    std::memcpy(setup.id.data(), shared.local, setup.id.size());

    const comm::SymmetricBuffer calls = host.allocate(sizeof(comm::CallRecord), DataType::kByte);
    for (std::byte* record : comm::everyRanks(host, calls)) {
        setup.calls.push_back(reinterpret_cast<comm::CallRecord*>(record));
    }
    setup.api = m_module->nccl;
    setup.runtime = m_runtime;
    setup.clock = &*m_clock;
    setup.device = device();
    setup.rank = host.rank();
    setup.size = host.size();
    setup.observer = &m_observer;
    setup.accumulate = m_module->kernels->accumulate;
    setup.annotate = &annotate;
    setup.timeout = std::chrono::seconds(m_start.config.collectiveTimeout);
    setup.failed = [this](const std::string& sentence) { endProcess(sentence); };
    return comm::makeNcclCommunicator(std::move(setup));
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
    m_facts.attention =
        kernels::deviceAttentionInUse(qkv, m_start.config.batch, m_start.config.model.heads);
    m_outbox.post(run::DeviceReported{m_facts});
}

void GpuRank::measurePeak() {
    const run::RunConfig& config = m_start.config;
    const run::ModelConfig& model = config.model;
    const control::PhaseScope scope(&m_observer, Phase::kCalibration, kNoLayer);
    const std::int64_t rows = config.batch * model.context;
    m_facts.measuredPeak = m_module->measureMatmul(
        rows, 4 * model.hidden, model.hidden, kernels::dataTypeOf(computeType(config.precision)),
        config.precision == run::Precision::kTf32, kPeakSeconds);
    m_facts.measuredPeakSource = fmt::format(
        "measured: best {} ({} x {}) x ({} x {}) matrix product of random data before "
        "the first step",
        toWord(config.precision), rows, model.hidden, model.hidden, 4 * model.hidden);
}

run::PeakMeasured GpuRank::peak(bool measure) {
    m_facts.measuredPeakSource = "not measured: calibration was switched off";
    if (measure) measurePeak();
    const auto vendor = theory::devicePeak(m_facts.name, toWord(m_start.config.precision));
    if (!vendor.value) {
        m_facts.vendorPeakSource = vendor.reason;
    } else if (m_facts.mig) {
        m_facts.vendorPeakSource = "the device is split by MIG: the data sheet is about all of it";
    } else {
        m_facts.vendorPeak = vendor.value->flops;
        m_facts.vendorPeakSource =
            fmt::format("dense {}, accumulated in {}, {}{}{}", toWord(m_start.config.precision),
                        vendor.value->accumulate, vendor.value->source,
                        vendor.value->mark.empty() ? "" : "; ", vendor.value->mark);
    }
    m_outbox.post(run::DeviceReported{m_facts});

    run::PeakMeasured peak;
    peak.source = m_facts.vendorPeakSource;
    if (m_facts.sharedBy > 1) {
        peak.source = "shared device: ranks that take turns have no peak of their own";
    } else {
        peak.peakFlops = m_facts.vendorPeak;
    }
    return peak;
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
        failed.message = outOfMemoryText(*outOfMemory, m_facts);
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
