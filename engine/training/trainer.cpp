#include "engine/training/trainer.h"

#include "engine/control/failure_sentence.h"
#include "engine/run/theory/working_sizes.h"
#include "engine/training/schedule.h"
#include "storage/model/host_clock.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace shardscope::training {
namespace {

LayerIndex layerOf(std::int64_t block) {
    return {static_cast<std::int16_t>(block)};
}
using parallel::After;

/// (n) float64 zeros that operators' events and memory accounting need not know of.
at::Tensor scalars(std::int64_t n, at::Device device) {
    const at::DisableRecordFunctionGuard bookkeeping;
    return at::zeros({n}, at::TensorOptions().dtype(at::kDouble).device(device));
}

at::Tensor element(const at::Tensor& values, std::int64_t index) {
    const at::DisableRecordFunctionGuard bookkeeping;
    return values.select(0, index);
}

/// Tensors of the host are computed at once, whatever is captured.
control::DeviceRuntime& graphsOn(at::Device device, control::DeviceRuntime* runtime) {
    if (runtime != nullptr && !device.is_cpu()) return *runtime;
    throw std::runtime_error(fmt::format(
        "graphs are of devices, and tensors are on {}; leave --graphs out", device.str()));
}

}  // namespace

Trainer::Trainer(const run::RunConfig& config, at::Device device, gpt::Gpt& model,
                 parallel::Partitioning& partitioning, comm::Communicator& communicator,
                 BatchSource batches, control::Observer* observer, control::DeviceRuntime* runtime,
                 parallel::TensorRanks* tensor)
    : m_config(config),
      m_device(device),
      m_model(model),
      m_partitioning(partitioning),
      m_communicator(communicator),
      m_batches(std::move(batches)),
      m_observer(observer),
      m_runtime(runtime),
      m_tensor(tensor),
      m_settlement(
          device,
          config.offload == run::Offload::kNone ? OptimizerPlace::kDevice : OptimizerPlace::kHost,
          communicator, runtime),
      m_outer(model, partitioning, config.prefetch,
              [this](Phase phase) { return this->phase(phase, kRootLayer); }),
      m_segments(static_cast<std::size_t>(config.model.layers)) {
    if (config.precision == run::Precision::kFloat16) m_progress.lossScale.value = config.lossScale;
    if (runtime == nullptr) return;
    m_staging.emplace(device, *runtime, [this, each = config.accumulate](std::int64_t index) {
        return m_batches.training(static_cast<std::int32_t>(index / each),
                                  static_cast<std::int32_t>(index % each));
    });
}

void Trainer::resume(const Progress& progress) {
    m_progress = progress;
    m_settlement.setUpdates(progress.updates);
}

control::PhaseScope Trainer::phase(Phase phase, LayerIndex layer) {
    m_place.phase = phase;
    m_place.layer = layer;
    placeExchanges(phase == Phase::kBackward ? Cause::kActivationGradient : Cause::kActivation,
                   layer);
    return {m_observer, phase, layer};
}

void Trainer::placeExchanges(Cause cause, LayerIndex layer) {
    if (m_tensor != nullptr) m_tensor->setPlace({cause, layer, m_place.step});
}

Result<StepResults> Trainer::step(std::int32_t step, bool stopWanted, AfterStep next,
                                  bool changeWaits) {
    try {
        return runStep(step, stopWanted, next, changeWaits);
    } catch (const std::exception& error) {
        return failed(error);
    }
}

Result<double> Trainer::evaluate(const std::function<bool()>& stopWanted) {
    try {
        const auto loss = runEvaluation(stopWanted);
        if (!loss) return failure(ErrorCode::kCancelled, "the evaluation was stopped");
        return *loss;
    } catch (const std::exception& error) {
        return failed(error);
    }
}

tl::unexpected<Error> Trainer::failed(const std::exception& error) {
    if (const auto* peer = dynamic_cast<const comm::PeerError*>(&error)) {
        m_place.waitedFor = peer->rank();
        m_place.hearsay = dynamic_cast<const comm::PeerGone*>(peer) != nullptr;
    }
    return failure(ErrorCode::kRank, control::sentenceOf(error));
}

Result<StepPosition> Trainer::findNonFinite(std::int32_t step) {
    try {
        return runSearch(step);
    } catch (const std::exception& error) {
        return failure(ErrorCode::kRank, control::sentenceOf(error));
    }
}

std::size_t Trainer::unitOf(std::int64_t block) const {
    return m_model.firstBlock() + static_cast<std::size_t>(block);
}

void Trainer::prefetch(std::int64_t after) {
    const std::int64_t last = std::min(m_config.model.layers - 1, after + m_config.prefetch);
    for (std::int64_t i = after + 1; i <= last; ++i) {
        m_partitioning.fetch(unitOf(i), Cause::kPrefetch);
    }
}

at::Tensor Trainer::forward(const data::Batch& batch) {
    const std::int64_t layers = m_config.model.layers;
    at::Tensor x = m_outer.embed(batch.tokens, After::kForward);
    if (m_look) m_look(kRootLayer, x);
    for (std::int64_t i = 0; i < layers; ++i) {
        m_partitioning.fetch(unitOf(i), Cause::kDemand);
        prefetch(i);
        if (i + 1 == layers) m_outer.prefetchHead();
        m_partitioning.wait(unitOf(i));
        x = forwardBlock(i, x, batch.tokens.size(0));
        if (m_look) m_look(layerOf(i), x);
        // Backward starts with the last.
        if (i + 1 < layers) m_partitioning.release(unitOf(i), After::kForward);
    }
    return x;
}

bool Trainer::recomputes(std::int64_t block) const {
    return m_config.recomputeEvery > 0 && block % m_config.recomputeEvery == 0;
}

at::Tensor Trainer::forwardBlock(std::int64_t block, const at::Tensor& x, std::int64_t rows) {
    const auto scope = phase(Phase::kForward, layerOf(block));
    const control::MemoryScope memory(MemoryCategory::kActivation);
    Segment& segment = m_segments[static_cast<std::size_t>(block)];
    const bool graph = at::GradMode::is_enabled() && !recomputes(block);
    segment.input = x.detach().set_requires_grad(graph);
    const at::AutoGradMode mode(graph);
    const at::Tensor output = m_model.block(block, segment.input, rows);
    if (graph) segment.output = output;
    return output.detach();
}

at::Tensor Trainer::backwardBlock(std::int64_t block, const at::Tensor& dx, std::int64_t rows) {
    Segment& segment = m_segments[static_cast<std::size_t>(block)];
    if (!segment.output.defined()) {
        const auto scope = phase(Phase::kRecompute, layerOf(block));
        const control::MemoryScope memory(MemoryCategory::kActivation);
        segment.input.set_requires_grad(true);
        segment.output = m_model.block(block, segment.input, rows);
    }
    const auto scope = phase(Phase::kBackward, layerOf(block));
    const control::MemoryScope memory(MemoryCategory::kTemporary);
    torch::autograd::backward({segment.output}, {dx});
    at::Tensor gradient = segment.input.grad();
    segment = {};
    return gradient;
}

void Trainer::backward(const data::Batch& batch, at::Tensor dx) {
    for (std::int64_t i = m_config.model.layers - 1; i >= 0; --i) {
        m_partitioning.fetch(unitOf(i), Cause::kDemand);
        for (std::int64_t j = i - 1; j >= std::max<std::int64_t>(0, i - m_config.prefetch); --j) {
            m_partitioning.fetch(unitOf(j), Cause::kPrefetch);
        }
        m_partitioning.wait(unitOf(i));
        m_partitioning.beginGradients(unitOf(i));
        dx = backwardBlock(i, dx, batch.tokens.size(0));
        m_partitioning.release(unitOf(i), After::kBackward);
        m_model.joinGradients(unitOf(i));
        m_partitioning.reduce(unitOf(i), parallel::Contribution::kLast);
    }
    placeExchanges(Cause::kActivationGradient, kRootLayer);
    m_outer.embedBackward(batch.tokens, dx);
}

/// Through pinned memory, so that the copy runs behind the kernels before it.
data::Batch Trainer::onDevice(const data::Batch& batch) const {
    if (m_device.is_cpu()) return batch;
    const control::MemoryScope memory(MemoryCategory::kInput);
    const auto move = [&](const at::Tensor& t) { return t.pin_memory().to(m_device, true); };
    return {move(batch.tokens), move(batch.targets)};
}

BatchStaging::Staged Trainer::takeBatch(std::int32_t step, std::int32_t index) {
    const auto scope = phase(Phase::kData, kNoLayer);
    if (!m_staging) return {onDevice(m_batches.training(step, index))};
    const std::int64_t place = std::int64_t{step} * m_config.accumulate + index;
    const bool last = step + 1 == m_config.steps && index + 1 == m_config.accumulate;
    return m_staging->take(place, !last);
}

void Trainer::microStep(std::int32_t step, std::int32_t index) {
    m_place.microStep = index;
    const bool last = index + 1 == m_config.accumulate;
    const BatchStaging::Staged staged = takeBatch(step, index);
    const auto work = [&] { compute(staged.batch, last); };
    if (!m_config.graphs) return work();
    if (!m_graphs) m_graphs.emplace(graphsOn(m_device, m_runtime), m_communicator, m_observer);
    // The loss scale is an argument of kernels.
    m_graphs->run(step, {index == 0, last, staged.buffer}, m_progress.lossScale.value, work);
}

/// Reductions end with the last one, so that a graph leaves nothing behind on the host.
void Trainer::compute(const data::Batch& batch, bool last) {
    m_partitioning.beginMicroStep(last);
    m_model.joinsGradients(last || theory::reducesEachMicroStep(m_config));
    const at::Tensor x = forward(batch);
    const double scale = m_progress.lossScale.value / static_cast<double>(m_batches.stepTokens);
    backward(batch, m_outer.head(x, batch.targets, scale, m_settlement.loss()));
    if (!last) return;
    m_place.microStep = -1;
    m_partitioning.finishReductions();
}

/// All of a step but its update; its sums are the same on all ranks then.
void Trainer::queueStep(std::int32_t step, bool stopWanted, bool changeWaits) {
    m_place = {step, -1, Phase::kNone, kNoLayer};
    m_partitioning.beginStep(step);
    m_settlement.begin(stopWanted, changeWaits);
    for (std::int32_t i = 0; i < m_config.accumulate; ++i) microStep(step, i);
    m_place.microStep = -1;
    {
        const auto scope = phase(Phase::kClip, kNoLayer);
        m_partitioning.addSquaredNorm(m_settlement.squaredNorm());
    }
    {
        // One small all-reduce carries the norm, the loss and what is agreed on.
        const auto scope = phase(Phase::kWaitOther, kNoLayer);
        m_settlement.sum({Cause::kNorm, kNoLayer, step});
    }
    m_queued.push_back({step, learningRate(m_config, step), m_progress.lossScale.value});
    m_settlement.decide(updateRule(m_queued.back()));
}

kernels::UpdateRule Trainer::updateRule(const Queued& queued) const {
    kernels::UpdateRule rule;
    rule.adamW.learningRate = queued.learningRate;
    rule.adamW.beta1 = m_config.beta1;
    rule.adamW.beta2 = m_config.beta2;
    rule.adamW.epsilon = m_config.epsilon;
    rule.adamW.weightDecay = m_config.weightDecay;
    rule.clip = m_config.clip;
    rule.lossScale = queued.lossScale;
    rule.maySkip =
        m_config.precision == run::Precision::kFloat16 && !m_progress.lossScale.exhausted();
    return rule;
}

StepResults Trainer::runStep(std::int32_t step, bool stopWanted, AfterStep next, bool changeWaits) {
    queueStep(step, stopWanted, changeWaits);
    return m_settlement.runsAhead() ? settleAhead(next) : settleAtOnce(next);
}

void Trainer::update(bool another) {
    const auto scope = phase(Phase::kOptimizer, kNoLayer);
    // A graph finds units where it gathered them itself.
    m_partitioning.update(m_settlement.update(), another && !m_config.graphs);
}

/// The update is queued before it is known whether it applies; the step before is known by now.
StepResults Trainer::settleAhead(AfterStep next) {
    update(next == AfterStep::kAnotherStep);
    m_settlement.send();
    if (m_observer != nullptr && m_observer->wantsIdle()) {
        m_runtime->synchronizeAll();
        m_observer->deviceIdle();
    }
    StepResults results;
    std::size_t ahead = next == AfterStep::kAnotherStep ? 1 : 0;
    while (m_queued.size() > ahead) {
        results.push_back(settle());
        if (results.back().stop) ahead = 0;
    }
    return results;
}

/// A result that is not finite leaves the weights as they were, and the caller reports it; at
/// fp16 it may be the loss scale's doing, then the step is skipped.
StepResults Trainer::settleAtOnce(AfterStep next) {
    m_settlement.send();
    StepResult result = settle();
    if (m_observer != nullptr) m_observer->deviceIdle();
    if (result.failed()) return {result};
    if (result.skipped) {
        const auto scope = phase(Phase::kOptimizer, kNoLayer);
    } else {
        update(next == AfterStep::kAnotherStep && !result.stop);
    }
    result.knownNs = hostNow();
    return {result};
}

/// The oldest step that is on its way.
StepResult Trainer::settle() {
    const kernels::StepUpdate made = m_settlement.receive();
    const Queued queued = m_queued.front();
    m_queued.pop_front();
    StepResult result;
    result.knownNs = hostNow();
    result.step = queued.step;
    result.learningRate = queued.learningRate;
    result.lossScale = queued.lossScale;
    result.gradientNorm = std::sqrt(made.sums.squaredNorm) / queued.lossScale;
    result.loss = made.sums.loss / static_cast<double>(m_batches.stepTokens);
    result.stop = made.sums.stop > 0;
    result.change = queued.changeCounts && made.sums.change >= m_communicator.size();
    result.skipped = made.applied == 0 && made.halted == 0;
    if (m_config.precision == run::Precision::kFloat16 && made.halted == 0)
        m_progress.lossScale.accept(!result.skipped, queued.lossScale);
    m_progress.nextStep = queued.step + 1;
    m_progress.updates = static_cast<std::int64_t>(made.updates);
    for (Queued& behind : m_queued) behind.changeCounts = behind.changeCounts && !result.change;
    if (result.failed()) noteFailure(result);
    return result;
}

void Trainer::noteFailure(const StepResult& result) {
    m_place = {result.step, -1, std::isfinite(result.loss) ? Phase::kBackward : Phase::kHead,
               kNoLayer};
}

/// Asked of all ranks, so that they go on or end together.
bool Trainer::anyWants(const std::function<bool()>& stop) {
    if (!stop) return false;
    std::array<double, 1> wanted{stop() ? 1.0 : 0.0};
    m_communicator.allReduceSmall(wanted, comm::Reduction::kMax, {Cause::kLoss}).wait();
    return wanted[0] > 0;
}

std::optional<double> Trainer::runEvaluation(const std::function<bool()>& stopWanted) {
    m_place = {-1, -1, Phase::kEvaluation, kNoLayer};
    const control::PhaseScope scope(m_observer, Phase::kEvaluation, kNoLayer);
    const at::NoGradGuard noGradient;
    control::Observer* const observer = std::exchange(m_observer, nullptr);
    m_partitioning.reportPhases(false);
    if (m_tensor != nullptr) m_tensor->reportPhases(false);
    m_partitioning.beginStep(-1);
    const at::Tensor loss = scalars(1, m_device);
    std::array<double, 2> sums{0, 0};
    bool stopped = false;
    for (std::int32_t i = 0; i < m_config.evaluateBatches; ++i) {
        stopped = anyWants(stopWanted);
        if (stopped) break;
        const data::Batch batch = onDevice(m_batches.validation(i));
        const at::Tensor x = forward(batch);
        m_partitioning.release(unitOf(m_config.model.layers - 1), After::kEvaluation);
        m_outer.evaluate(x, batch.targets, element(loss, 0));
        if (answers()) sums[1] += static_cast<double>(batch.targets.numel());
    }
    releaseAll();
    if (!stopped) {
        sums[0] = loss.item<double>();
        m_communicator.allReduceSmall(sums, comm::Reduction::kSum, {Cause::kLoss}).wait();
    }
    m_partitioning.reportPhases(true);
    if (m_tensor != nullptr) m_tensor->reportPhases(true);
    m_observer = observer;
    for (Segment& segment : m_segments) segment = {};
    return stopped ? std::nullopt : std::optional(sums[0] / sums[1]);
}

/// Units that stay gathered after forward, too.
void Trainer::releaseAll() {
    for (std::size_t unit = 0; unit < m_model.units().size(); ++unit)
        m_partitioning.release(unit, After::kEvaluation);
}

StepPosition Trainer::runSearch(std::int32_t step) {
    const at::NoGradGuard noGradient;
    control::Observer* const observer = std::exchange(m_observer, nullptr);
    m_partitioning.reportPhases(false);
    if (m_tensor != nullptr) m_tensor->reportPhases(false);
    m_partitioning.beginStep(-1);
    // Outputs in the order in which they are computed; the head's is the last of a micro-step.
    const auto outputs = static_cast<double>(m_segments.size() + 2);
    double position = 0;
    std::array<double, 1> first{-1e18};  // the smallest position, negated for the maximum
    const auto look = [&](const at::Tensor& output) {
        if (!at::isfinite(output).all().item<bool>()) first[0] = std::max(first[0], -position);
        ++position;
    };
    m_look = [&](LayerIndex, const at::Tensor& output) { look(output); };
    for (std::int32_t i = 0; i < m_config.accumulate; ++i) {
        const data::Batch batch = onDevice(m_batches.training(step, i));
        const at::Tensor x = forward(batch);
        const at::Tensor loss = scalars(1, m_device);
        m_outer.evaluate(x, batch.targets, element(loss, 0));
        look(loss);
        releaseAll();
    }
    m_look = nullptr;
    m_communicator.allReduceSmall(first, comm::Reduction::kMax, {Cause::kLoss}).wait();
    m_partitioning.reportPhases(true);
    if (m_tensor != nullptr) m_tensor->reportPhases(true);
    m_observer = observer;
    for (Segment& segment : m_segments) segment = {};
    StepPosition place{step, -1, Phase::kForward, kNoLayer};
    if (first[0] < -1e17) return place;
    place.microStep = static_cast<std::int32_t>(-first[0] / outputs);
    const auto output = static_cast<std::int64_t>(-first[0] - outputs * place.microStep);
    const bool head = output == static_cast<std::int64_t>(m_segments.size()) + 1;
    if (head) place.phase = Phase::kHead;
    place.layer = output == 0 || head ? kRootLayer : layerOf(output - 1);
    return place;
}

}  // namespace shardscope::training
