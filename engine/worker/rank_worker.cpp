#include "engine/worker/rank_worker.h"

#include "engine/control/failure_sentence.h"
#include "engine/data/reference.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "engine/launch/host_facts.h"
#include "engine/training/session.h"
#include "engine/training/verification.h"
#include "engine/worker/failure_sentences.h"
#include "engine/worker/instruction_sets.h"
#include "engine/worker/measuring/measuring_run.h"
#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/host/process_usage.h"
#include "storage/model/host_clock.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <span>

namespace shardscope::worker {
namespace {

/// Of calibration: at least, and at most where the best bursts do not agree.
constexpr std::int64_t kEnoughNs = 300'000'000, kAtMostNs = 2'000'000'000;
/// Side of its product: a few milliseconds of work, more where many threads share it.
constexpr std::int64_t kBurstSize = 1024, kLargeBurstSize = 2048;
constexpr int kManyThreads = 8;

/// The step thread's: autograd's device threads allocate on its behalf while it waits.
const control::MemoryUse* g_stepUse = nullptr;

collectors::BlockUse currentUse() {
    const control::MemoryUse* use = &control::threadMemoryUse();
    if (use->category == MemoryCategory::kOther && use->owner == nullptr && g_stepUse != nullptr) {
        use = g_stepUse;
    }
    return {use->category, use->owner};
}

/// Outside any step.
run::RankFailed failureOf(const std::exception& error) {
    run::RankFailed failed{.message = control::sentenceOf(error), .code = "failure"};
    if (const auto* peer = dynamic_cast<const comm::PeerError*>(&error)) {
        failed.waitedFor = peer->rank();
        failed.code =
            dynamic_cast<const comm::PeerGone*>(peer) != nullptr ? "peer-lost" : "peer-late";
    }
    return failed;
}

capture::SessionOptions sessionOptions(const run::RankStart& start) {
    capture::SessionOptions options;
    options.rank = RankId{static_cast<std::uint32_t>(start.rank)};
    options.originNs = start.originNs;
    return options;
}

}  // namespace

RankWorker::RankWorker(int fd, run::RankStart start, CommandReader& commands,
                       std::function<void(RankLinks&)> linked)
    : m_start(std::move(start)),
      m_commands(commands),
      m_outbox(fd, RankId{static_cast<std::uint32_t>(m_start.rank)}),
      m_session(sessionOptions(m_start), m_outbox),
      m_observer(m_start.config, RankId{static_cast<std::uint32_t>(m_start.rank)}, m_session,
                 m_outbox),
      m_linked(std::move(linked)) {
    m_commands.onClock([this](const run::ClockCorrection& each) {
        m_session.clock().correct({each.fromNs, each.originNs, each.driftPpb}, hostNow());
    });
}

/// A run that failed tells what its device did until then.
RankWorker::~RankWorker() {
    m_commands.onClock({});
    m_operators.reset();
    const bool whole = !m_gpu || m_gpu->salvage();
    m_outbox.finish();
    if (!whole) std::_Exit(exitStatus({ErrorCode::kRank, ""}));
    collectors::attachAllocator(nullptr);
}

Result<void> RankWorker::openDevice() {
    if (m_start.config.device == run::Device::kCpu) return {};
    // What other threads do for this one is booked as this one's.
    g_stepUse = &control::threadMemoryUse();
    capture::lendContext(&capture::threadContext());
    auto gpu = GpuRank::open(m_start, m_session, m_outbox, m_observer, &currentUse);
    if (!gpu) return failure(gpu);
    m_gpu = std::move(*gpu);
    m_sampled.store(m_gpu.get());
    m_device = m_gpu->device();
    return {};
}

Result<void> RankWorker::prepare() {
    const run::RunConfig& config = m_start.config;
    m_hostFacts = launch::hostFactRows();  // before ranks are a load themselves
    auto schedule = CaptureSchedule::of(run::captureWishOf(config));
    if (!schedule) return failure(schedule);
    m_schedule = std::move(*schedule);
    const bool full = config.capture == CaptureLevel::kFull;
    m_session.setDetailed(full);
    const std::string dropped = dropImpossibleCapability();
    collectors::installRecordingAllocator(&currentUse);
    m_outbox.start(m_session, [this](bool last) {
        if (!last) m_observer.sampleUsage();  // what the rank counted at its end stays true
        if (!last) tellActivity();
        if (GpuRank* gpu = m_sampled.load()) gpu->sample(last);
    });
    if (auto opened = openDevice(); !opened) return opened;
    at::set_num_threads(config.threads);
    run::RankHello hello;
    hello.protocol = run::kProtocolVersion;
    hello.product = "shardscope-rank";
    hello.pid = ::getpid();
    hello.device =
        m_gpu ? m_gpu->deviceText()
              : fmt::format("cpu ({} thread{})", config.threads, config.threads == 1 ? "" : "s");
    hello.libraries = {{"libtorch", TORCH_VERSION}, {"oneDNN", at::get_mkldnn_version()}};
    if (m_gpu) hello.libraries.merge(m_gpu->libraries());
    m_outbox.post(hello);
    if (!dropped.empty() && m_start.rank == 0) m_outbox.post(run::LogLine{"warning", dropped});

    // A GPU rank's memory is the device's; what it holds on the host is not the question.
    if (!m_gpu) collectors::attachAllocator(&m_session);
    if (full) m_operators = std::make_unique<collectors::OperatorCollector>(m_session);
    if (m_gpu && deviceLevelOf(config) >= capture::DeviceLevel::kLaunches) {
        m_backward = std::make_unique<collectors::BackwardContexts>();
        m_backward->setEnabled(!full);
    }
    auto links = linkRanks(m_start, m_gpu != nullptr, m_observer);
    if (!links) return failure(links);
    m_links = std::move(*links);
    if (m_gpu) m_links.training = m_gpu->join(m_links);
    if (m_linked && !m_gpu) m_linked(m_links);
    return {};
}

void RankWorker::tellActivity() {
    const GpuRank* gpu = m_sampled.load();
    m_activity.look(hostNow(), gpu != nullptr, [&] {
        const std::int64_t blocks =
            gpu != nullptr ? gpu->allocatedBytes() : collectors::allocatedBytes();
        return MemoryNow{{blocks + m_observer.account().bufferBytes()},
                         collectors::processUsage().residentSet};
    });
}

bool RankWorker::majority(bool vote) {
    std::array<double, 1> votes{vote ? 1.0 : 0.0};
    m_links.agreeing().allReduceSmall(votes, comm::Reduction::kSum, {Cause::kStart}).wait();
    return 2 * votes[0] > m_start.worldSize();
}

/// All ranks follow the majority, so that they compute alike.
void RankWorker::chooseKernels() {
    if (m_gpu) {
        const run::Attention wanted = m_start.config.attention;
        m_gpu->useAttention(wanted == run::Attention::kAuto ? majority(m_gpu->cudnnIsFaster())
                                                            : wanted == run::Attention::kCudnn);
    } else {
        chooseHostKernels();
    }
    reportFacts();
}

/// What decides how fast this rank computes and how much it holds, and is in no option.
void RankWorker::reportFacts() {
    run::FactsReported report;
    const auto add = [&report](Fact fact, std::string value) {
        report.facts.push_back({toWord(fact), 0, 0, std::move(value)});
    };
    if (m_gpu) {
        add(Fact::kProducts, "cuBLAS");
        add(Fact::kAttention, m_gpu->attention());
    } else {
        add(Fact::kProducts, toWord(kernels::matmulLibraryInUse()));
        add(Fact::kAttention, toWord(kernels::attentionInUse()));
        add(Fact::kInstructionSet, at::get_cpu_capability());
        if (training::placementOf(m_start.config, m_device).copies())
            add(Fact::kNarrowProducts, toWord(kernels::narrowProductsInUse()));
    }
    if (m_start.localRank() == 0)
        report.facts.insert(report.facts.end(), m_hostFacts.begin(), m_hostFacts.end());
    m_outbox.post(report);
}

/// On many CPUs bf16 and fp16 are a trap: warned of where slower than fp32.
void RankWorker::chooseNarrowProducts() {
    const run::ModelConfig& model = m_start.config.model;
    const at::ScalarType type = training::placementOf(m_start.config, m_device).compute;
    const kernels::Slowdown slowdown =
        kernels::slowdownOf(type, m_start.config.batch * model.context, model.hidden);
    const auto way = majority(slowdown.faster() == kernels::NarrowProducts::kWidened)
                         ? kernels::NarrowProducts::kWidened
                         : kernels::NarrowProducts::kNative;
    kernels::useNarrowProducts(way);
    if (slowdown.of(way) < kernels::kSlowPrecision || !m_start.config.reference.empty()) return;
    const std::string sentence =
        fmt::format("a {} matrix product takes {:.1f} times as long as an fp32 one on this CPU",
                    toWord(m_start.config.precision), slowdown.of(way));
    m_outbox.raise(Severity::kWarning, fmt::format("slow-{}", toWord(m_start.config.precision)),
                   sentence, "Use --precision fp32.");
}

/// `narrow`: the run multiplies in less than fp32, which the blocked kernel does not know.
bool RankWorker::choosesBlockedAttention(bool narrow) {
    const run::RunConfig& config = m_start.config;
    if (config.attention != run::Attention::kAuto)
        return config.attention == run::Attention::kBlocked;
    const run::ModelConfig& model = config.model;
    if (narrow) return majority(false);
    return chosen(
        fmt::format("blocked attention with {}, {}x{}x{}x{}", toWord(kernels::matmulLibraryInUse()),
                    config.batch, model.context, model.heads, model.hidden),
        kernels::blockedOverFlash(config.batch, model.context, model.heads,
                                  model.hidden / model.heads));
}

/// Of two kernels whether the second is taken by all ranks, `ratio` its time over the first's here.
bool RankWorker::chosen(const std::string& what, double ratio) {
    const PeakStore store(peakStorePath());
    const std::string key = choiceKey(what, m_start.config.threads, m_start.localSize());
    const auto nowS = static_cast<std::int64_t>(std::time(nullptr));
    const std::optional<bool> kept = store.findChoice(key, nowS);
    const bool second = majority(takesSecond(kept, ratio));
    if (m_start.localRank() == 0 && kept != second) store.keepChoice(key, second, nowS);
    return second;
}

void RankWorker::chooseMatmulLibrary() {
    const run::RunConfig& config = m_start.config;
    const std::int64_t tokens = config.batch * config.model.context, hidden = config.model.hidden;
    const bool oneDnn = config.products == run::Products::kAuto
                            ? chosen(fmt::format("products by oneDNN, {}x{}", tokens, hidden),
                                     kernels::oneDnnOverMkl(tokens, hidden))
                            : config.products == run::Products::kOneDnn;
    kernels::useMatmulLibrary(oneDnn ? kernels::MatmulLibrary::kOneDnn
                                     : kernels::MatmulLibrary::kMkl);
    if (config.products == run::Products::kOneDnn &&
        kernels::matmulLibraryInUse() != kernels::MatmulLibrary::kOneDnn)
        m_outbox.raise(Severity::kWarning, "products-missing",
                       "oneDNN's library libdnnl.so.3 is not installed here: matrix products are "
                       "by MKL",
                       "Install it again with packaging/fetch-libtorch, or use --products mkl.");
}

void RankWorker::chooseHostKernels() {
    chooseMatmulLibrary();
    const run::RunConfig& config = m_start.config;
    const bool narrow = training::placementOf(config, m_device).copies();
    if (narrow) chooseNarrowProducts();
    const bool blocked = choosesBlockedAttention(narrow);
    kernels::useAttention(blocked ? kernels::AttentionKind::kBlocked
                                  : kernels::AttentionKind::kFlash);
    if (m_start.rank != 0) return;
    m_outbox.post(run::LogLine{
        "info", fmt::format("matrix products by {}, {} attention",
                            toWord(kernels::matmulLibraryInUse()), blocked ? "blocked" : "flash")});
}

void RankWorker::calibrate() {
    run::PeakMeasured peak;
    if (m_gpu) {
        m_links.training->barrier({Cause::kStart}).wait();
        m_outbox.post(m_gpu->peak(m_start.config.calibrate));
        return;
    }
    if (!m_start.config.calibrate) {
        peak.source = "not measured: calibration was switched off";
        m_outbox.post(peak);
        return;
    }
    const int threads =
        std::min(m_start.localSize() * m_start.config.threads, launch::threadsPerRank(1));
    const bool measures = m_start.localRank() == 0;
    ChosenPeak chosen;
    {
        const control::PhaseScope scope(&m_observer, Phase::kCalibration, kNoLayer);
        if (measures) chosen = hostPeak(threads);
        m_links.training->barrier({Cause::kStart}).wait();
    }
    // Ranks that share cores share what these reach.
    peak.peakFlops = ofOwnHost(chosen.peak.flops / m_start.localSize());
    peak.source = measures ? chosen.source
                           : fmt::format("its part of what rank {} measured",
                                         m_start.places.firstOf(m_start.host()));
    m_outbox.post(peak);
}

/// What the first rank of this host says; each of its ranks calls it.
double RankWorker::ofOwnHost(double said) {
    constexpr auto kAtOnce = static_cast<std::int32_t>(comm::kSmallValues);
    const std::int32_t place = m_start.host() % kAtOnce;
    double heard = 0;
    for (std::int32_t first = 0; first < m_start.places.hosts(); first += kAtOnce) {
        std::array<double, comm::kSmallValues> values{};
        const bool own = m_start.host() / kAtOnce * kAtOnce == first;
        if (own && m_start.localRank() == 0) values[static_cast<std::size_t>(place)] = said;
        const auto count = std::min(kAtOnce, m_start.places.hosts() - first);
        m_links.training
            ->allReduceSmall(std::span(values).first(static_cast<std::size_t>(count)),
                             comm::Reduction::kSum, {Cause::kStart})
            .wait();
        if (own) heard = values[static_cast<std::size_t>(place)];
    }
    return heard;
}

/// Of `threads` threads together, whatever this rank has of them.
ChosenPeak RankWorker::hostPeak(int threads) const {
    const at::ScalarType type = training::placementOf(m_start.config, m_device).compute;
    const char* word = toWord(m_start.config.precision);
    const kernels::MatmulBurst burst(threads < kManyThreads ? kBurstSize : kLargeBurstSize, type);
    at::set_num_threads(threads);
    const std::int64_t start = hostNow();
    HostPeak measured =
        measureHostPeak([&] { return burst.run(); }, [&] { return hostNow() - start > kEnoughNs; },
                        [&] { return hostNow() - start > kAtMostNs; });
    at::set_num_threads(1);
    double alone = 0;
    for (std::size_t i = 0; i < kAgreeingBursts; ++i) alone = std::max(alone, burst.run());
    at::set_num_threads(m_start.config.threads);
    measured.stable = measured.stable && isPlausible(measured, alone, threads);
    const std::string library = toWord(kernels::matmulLibraryInUse());
    const PeakStore store(peakStorePath());
    const std::string key = hostPeakKey(m_start.config.precision, threads);
    ChosenPeak chosen = choosePeak(store.find(key, measured.unixS), measured,
                                   fmt::format("{} matrix product by {} on {} thread{} together",
                                               word, library, threads, threads == 1 ? "" : "s"));
    store.keep(key, chosen.peak);
    return chosen;
}

void RankWorker::reportTheory() {
    const theory::KernelChoice kernels{m_gpu != nullptr ||
                                       kernels::attentionInUse() == kernels::AttentionKind::kFlash};
    const auto theory = theory::memoryTheory(m_start.config, kernels);
    run::TheoryReported report;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const Bytes size = theory[static_cast<std::size_t>(i)];
        if (size.count == 0) continue;
        report.categories.push_back({RankId{static_cast<std::uint32_t>(m_start.rank)},
                                     static_cast<MemoryCategory>(i), size});
    }
    m_outbox.post(report);
}

Result<void> RankWorker::run() {
    try {
        if (auto prepared = prepare(); !prepared) {
            const bool launch = prepared.error().code == ErrorCode::kLaunch && m_gpu == nullptr &&
                                m_start.config.device == run::Device::kCuda;
            return m_outbox.fail(prepared.error(), launch ? "launch" : "failure");
        }
        const bool measures = m_start.config.work == run::Work::kMeasuring;
        if (!measures) chooseKernels();
        auto result = measures                           ? measure()
                      : m_start.config.reference.empty() ? train()
                                                         : followReference();
        if (!result) {
            giveUp();
            return result;
        }
        m_links.training->barrier({Cause::kStop}).wait();  // peers may still read this rank's arena
    } catch (const std::exception& error) {
        giveUp();
        const auto memory = outOfMemorySentence(m_start.config, {});
        if (memory) return m_outbox.fail({ErrorCode::kRank, *memory}, "out-of-memory");
        const run::RankFailed failed = failureOf(error);
        m_outbox.post(failed);
        return failure(ErrorCode::kRank, failed.message);
    }
    m_operators.reset();
    m_backward.reset();
    m_links.close();
    if (m_gpu) m_gpu->finish();
    m_commands.expectEnd();
    run::RankFinished finished;
    finished.stopped = m_commands.stopWanted();
    finished.emitted = m_session.emitted();
    finished.dropped = m_session.dropped();
    m_outbox.finish(run::Message(finished));
    return {};
}

/// Peers fail instead of waiting for this rank, and this rank does not wait for its device.
void RankWorker::giveUp() {
    if (m_gpu) m_gpu->abandon();
    for (comm::Communicator* ranks :
         {m_links.training.get(), m_links.agreement.get(), m_links.near.get()})
        if (ranks != nullptr) ranks->abort();
}

void RankWorker::captureStep(std::int32_t step) {
    const CaptureLevel level = m_schedule.levelOf(step);
    const bool first = !std::exchange(m_begun, true);
    const bool full = level == CaptureLevel::kFull;
    // What the first step allocates mostly stays: without it memory would never be right.
    m_session.setDetailed(full || (first && m_start.config.capture == CaptureLevel::kFull));
    m_observer.level().decide(level, m_schedule.reason(), m_schedule.levelOf(step + 1));
    if (!first && level == m_level) return;
    m_level = level;
    if (m_operators) m_operators->setEnabled(full);
    if (m_backward) m_backward->setEnabled(!full);
    if (m_gpu) m_gpu->setCaptured(level >= CaptureLevel::kLight);
}

/// What the recorder sends it has tried itself: one that makes no sense here changes nothing.
void RankWorker::changeCapture() {
    auto schedule =
        CaptureSchedule::of(run::captureWishOf(m_start.config), m_commands.takeCaptureChange());
    if (schedule) m_schedule = std::move(*schedule);
}

Result<void> RankWorker::train() {
    calibrate();
    reportTheory();
    return TrainingRun(runParts()).run();
}

Result<void> RankWorker::measure() {
    if (!m_gpu) chooseMatmulLibrary();
    reportFacts();
    return MeasuringRun(runParts()).run();
}

RunParts RankWorker::runParts() {
    return {m_start,
            m_device,
            *m_links.training,
            m_session,
            m_observer,
            m_outbox,
            m_commands,
            m_gpu.get(),
            [this](std::int32_t step) { captureStep(step); },
            [this] { changeCapture(); },
            [this] { giveUp(); }};
}

Result<void> RankWorker::followReference() {
    auto reference = data::Reference::load(m_start.config.reference);
    if (!reference) return m_outbox.fail(reference.error(), "data");
    const run::RunConfig config = reference->apply(m_start.config);
    auto result = training::verify(*reference, config, m_device, *m_links.training, &m_observer);
    if (!result) return m_outbox.fail(result.error(), "failure");
    if (m_start.rank == 0) m_outbox.post(*result);
    return {};
}

}  // namespace shardscope::worker
