#include "tests/support/sample_run.h"

#include "engine/run/theory/theory.h"

#include <algorithm>

namespace shardscope::test {
namespace {

/// Lengths below are those of a fast machine; this makes MFU plausible against the stated peak.
constexpr double kSlowness = 9.5;
constexpr double kDeviceSlowness = 0.65;
constexpr Bytes kContext{640ll << 20};      ///< CUDA's, and what libraries load
constexpr Bytes kNcclBuffers{190ll << 20};  ///< appear with the first collective

constexpr Duration microseconds(double count) {
    return {static_cast<std::int64_t>(count * 1000)};
}

std::string nameOf(LayerIndex layer) {
    if (layer == kRootLayer) return "embedding";
    return "block " + std::to_string(layer.value);
}

Bytes half(Bytes size, int parts) {
    return {size.count / parts};
}

}  // namespace

SampleRun::SampleRun(const SampleOptions& options, const run::RunConfig& config)
    : m_options(options), m_config(config) {
    for (std::int32_t rank = 0; rank < options.ranks; ++rank) {
        SampleRank sample;
        sample.id = {static_cast<std::uint32_t>(rank)};
        sample.now = Timestamp{} + microseconds(200'000);
        m_ranks.push_back(std::move(sample));
        if (options.gpu) m_devices.emplace_back(options.gpuTraced);
    }
}

double SampleRun::jitter() {
    m_noise = m_noise * 1664525u + 1013904223u;
    return 0.97 + 0.06 * (static_cast<double>(m_noise >> 8) / 16777216.0);
}

bool SampleRun::evaluates(std::int32_t step) const {
    return m_options.evaluateEvery > 0 && (step + 1) % m_options.evaluateEvery == 0;
}

Bytes SampleRun::unitBytes(LayerIndex layer) const {
    const int width = m_config.precision == run::Precision::kBFloat16 ? 2 : 4;
    return {width * (layer == kRootLayer ? theory::rootParameterCount(m_config.model)
                                         : theory::blockParameterCount(m_config.model))};
}

Bytes SampleRun::reserved() const {
    return {theory::total(theory::memoryTheory(m_config)).count / 100 * 108};
}

double SampleRun::collectiveMicroseconds(Bytes size) {
    const double bytes = static_cast<double>(size.count);
    return (m_options.gpu ? 25 + bytes / 3e5 : 20 + bytes / 700.0) * jitter();
}

void SampleRun::allocateAll(const std::string& block, Bytes size, MemoryCategory category,
                            LayerIndex layer) {
    for (SampleRank& rank : m_ranks) rank.allocate(block, size, category, rank.now, layer, m_step);
}

void SampleRun::prepare() {
    const auto theory = theory::memoryTheory(m_config);
    if (m_options.gpu) allocateAll("outside", kContext, MemoryCategory::kOutside, kNoLayer);
    for (const auto category : {MemoryCategory::kParameterShard, MemoryCategory::kGradientShard,
                                MemoryCategory::kOptimizerState}) {
        const int parts = category == MemoryCategory::kOptimizerState ? 2 : 1;
        for (int part = 0; part < parts; ++part)
            allocateAll(std::string(toWord(category)) + "#" + std::to_string(part),
                        half(theory[static_cast<std::size_t>(category)], parts), category,
                        kNoLayer);
    }
    phase(Phase::kCalibration, kNoLayer, 60'000);
    if (!m_options.gpu) return;
    for (SampleRank& rank : m_ranks) rank.release("outside", rank.now);
    allocateAll("outside", kContext + kNcclBuffers, MemoryCategory::kOutside, kNoLayer);
}

void SampleRun::phase(Phase phase, LayerIndex layer, std::int64_t length) {
    for (SampleRank& rank : m_ranks) {
        // The last rank computes a little slower, so that the others wait for it.
        const double slow = rank.id.value + 1 == m_ranks.size() && m_ranks.size() > 1 ? 1.03 : 1;
        const double slowness = m_options.gpu ? kDeviceSlowness : kSlowness;
        const Timestamp end =
            rank.now + microseconds(slowness * static_cast<double>(length) * slow * jitter());
        SpanEvent facts;
        facts.phase = phase;
        facts.layer = layer;
        facts.step = m_step;
        const std::string name =
            layer == kNoLayer ? toWord(phase) : std::string(toWord(phase)) + " " + nameOf(layer);
        rank.span(lanes::kPhases.id, name, {rank.now, end}, facts);
        // On a device the host only launches, ahead of what the device does.
        const TimeRange host = m_options.gpu
                                   ? m_devices[rank.id.value].phase(rank, facts, {rank.now, end})
                                   : TimeRange{rank.now, end};
        if (m_options.operators) operators(rank, phase, layer, host);
        rank.now = end + microseconds(m_options.gpu ? 2 : 15);
    }
}

void SampleRun::operators(SampleRank& rank, Phase phase, LayerIndex layer, TimeRange range) {
    static constexpr const char* kOthers[] = {"aten::gelu", "aten::layer_norm", "aten::add",
                                              "aten::scaled_dot_product_attention"};
    const int rounds = m_options.operatorRounds;
    const Duration each{range.duration().ns / (rounds * 2)};
    Timestamp at = range.begin;
    const auto nested = [&](const char* name, int depth, Duration inset) {
        SpanEvent facts;
        facts.phase = phase;
        facts.layer = layer;
        facts.step = m_step;
        facts.depth = static_cast<std::uint8_t>(depth);
        facts.correlation = m_correlation;
        const Duration margin{each.ns / 20};
        facts.arguments = rank.string("{\"shapes\":\"[[1024,384],[384,384]]\"}");
        rank.span(lanes::kOperators.id, name, {at + inset, at + each - inset - margin}, facts);
    };
    for (int round = 0; round < rounds; ++round) {
        ++m_correlation;
        nested("aten::linear", 0, {});
        nested("aten::matmul", 1, {each.ns / 50});
        nested("aten::mm", 2, {each.ns / 25});
        at = at + each;
        ++m_correlation;
        nested(kOthers[round % 4], 0, {});
        at = at + each;
    }
}

void SampleRun::issue(const std::string& key, const Collective& collective) {
    const std::uint64_t sequence = ++m_sequence;
    std::vector<Timestamp> starts;
    for (SampleRank& rank : m_ranks)
        starts.push_back(std::max(rank.now + microseconds(8), rank.communicationFree));
    const Arrivals arrivals(starts);
    std::vector<Timestamp>& ends = m_ends[key];
    ends.clear();
    for (std::size_t r = 0; r < m_ranks.size(); ++r) {
        SampleRank& rank = m_ranks[r];
        const Timestamp end =
            arrivals.last() + microseconds(collectiveMicroseconds(collective.size));
        rank.communicationFree = end;
        ends.push_back(end);
        const bool nccl = m_options.gpu, seesPeers = !nccl && m_options.ranksPerHost == 0;
        CollectiveEvent event{collective.operation,
                              nccl ? DataType::kBFloat16 : DataType::kFloat32,
                              collective.cause,
                              collective.layer,
                              m_step,
                              0,
                              sequence,
                              collective.size,
                              rank.string(nccl ? "RING" : "direct"),
                              rank.string(nccl ? "LL" : "shared memory"),
                              rank.now,
                              starts[r],
                              end,
                              seesPeers ? arrivals : Arrivals()};
        rank.collectives.push_back(event);
        if (nccl) m_devices[r].collective(rank, event);
        SpanEvent facts;
        facts.correlation = sequence;
        facts.layer = collective.layer;
        facts.step = m_step;
        rank.span(lanes::kCommunication.id, toWord(collective.operation), {starts[r], end}, facts);
        rank.now = rank.now + microseconds(10);
    }
}

void SampleRun::wait(const std::string& key, Phase phase) {
    const std::vector<Timestamp>& ends = m_ends.at(key);
    for (std::size_t r = 0; r < m_ranks.size(); ++r) {
        SampleRank& rank = m_ranks[r];
        if (ends[r] <= rank.now) continue;
        SpanEvent facts;
        facts.phase = phase;
        facts.step = m_step;
        rank.span(lanes::kPhases.id, toWord(phase), {rank.now, ends[r]}, facts);
        rank.now = ends[r] + microseconds(2);
    }
}

void SampleRun::gather(LayerIndex layer, Cause cause) {
    allocateAll("gathered " + nameOf(layer), unitBytes(layer), MemoryCategory::kGatheredParameter,
                layer);
    issue("gather " + nameOf(layer),
          {CollectiveOp::kAllGather, cause, Phase::kWaitGather, layer, unitBytes(layer)});
}

void SampleRun::releaseGathered(LayerIndex layer) {
    for (SampleRank& rank : m_ranks) rank.release("gathered " + nameOf(layer), rank.now);
}

void SampleRun::reduce(LayerIndex layer) {
    issue("reduce " + nameOf(layer), {CollectiveOp::kReduceScatter, Cause::kGradient,
                                      Phase::kWaitReduction, layer, unitBytes(layer)});
    const std::vector<Timestamp>& ends = m_ends.at("reduce " + nameOf(layer));
    for (std::size_t r = 0; r < m_ranks.size(); ++r)
        m_ranks[r].release("gradient " + nameOf(layer), ends[r]);
}

void SampleRun::forward() {
    const auto layers = static_cast<std::int16_t>(m_config.model.layers);
    const Bytes activation =
        half(theory::memoryTheory(m_config)[static_cast<std::size_t>(MemoryCategory::kActivation)],
             layers);
    gather(kRootLayer, Cause::kDemand);
    gather({0}, Cause::kPrefetch);
    wait("gather embedding", Phase::kWaitGather);
    phase(Phase::kForward, kRootLayer, 400);
    releaseGathered(kRootLayer);
    for (std::int16_t layer = 0; layer < layers; ++layer) {
        if (layer + 1 < layers)
            gather({static_cast<std::int16_t>(layer + 1)}, Cause::kPrefetch);
        else
            gather(kRootLayer, Cause::kPrefetch);
        wait("gather " + nameOf({layer}), Phase::kWaitGather);
        allocateAll("activations " + nameOf({layer}), activation, MemoryCategory::kActivation,
                    {layer});
        phase(Phase::kForward, {layer}, 5000);
        if (layer + 1 < layers) releaseGathered({layer});
    }
}

void SampleRun::backward() {
    const auto layers = static_cast<std::int16_t>(m_config.model.layers);
    wait("gather embedding", Phase::kWaitGather);
    allocateAll("gradient embedding", unitBytes(kRootLayer), MemoryCategory::kGradient, kRootLayer);
    const Bytes scratch =
        theory::memoryTheory(m_config)[static_cast<std::size_t>(MemoryCategory::kTemporary)];
    if (m_options.gpu) allocateAll("logits", scratch, MemoryCategory::kTemporary, kRootLayer);
    phase(Phase::kHead, kRootLayer, 2500);
    for (SampleRank& rank : m_ranks) rank.release("logits", rank.now);
    for (auto layer = static_cast<std::int16_t>(layers - 1); layer >= 0; --layer) {
        if (layer > 0) gather({static_cast<std::int16_t>(layer - 1)}, Cause::kPrefetch);
        if (layer + 1 < layers) wait("gather " + nameOf({layer}), Phase::kWaitGather);
        allocateAll("gradient " + nameOf({layer}), unitBytes({layer}), MemoryCategory::kGradient,
                    {layer});
        phase(Phase::kBackward, {layer}, 10'000);
        for (SampleRank& rank : m_ranks) rank.release("activations " + nameOf({layer}), rank.now);
        releaseGathered({layer});
        reduce({layer});
    }
    phase(Phase::kBackward, kRootLayer, 600);
    releaseGathered(kRootLayer);
    reduce(kRootLayer);
    wait("reduce embedding", Phase::kWaitReduction);
}

void SampleRun::evaluate() {
    phase(Phase::kEvaluation, kNoLayer, 24'000);
}

void SampleRun::finishStep() {
    issue("norm", {CollectiveOp::kAllReduce, Cause::kNorm, Phase::kWaitOther, kNoLayer, {8}});
    wait("norm", Phase::kWaitOther);
    phase(Phase::kClip, kNoLayer, 300);
    phase(Phase::kOptimizer, kNoLayer, 2500);
    issue("loss", {CollectiveOp::kAllReduce, Cause::kLoss, Phase::kWaitOther, kNoLayer, {8}});
    wait("loss", Phase::kWaitOther);
    if (m_options.leakBytes > 0)
        allocateAll("leak " + std::to_string(m_step.value), {m_options.leakBytes},
                    MemoryCategory::kOther, kNoLayer);
}

void SampleRun::step(std::int32_t step) {
    m_step = {step};
    m_steps.clear();
    std::vector<Timestamp> marks[3];
    const auto mark = [&](int which) {
        for (const SampleRank& rank : m_ranks) marks[which].push_back(rank.now);
    };
    mark(0);
    const std::int64_t tokens = m_config.batch * m_config.model.context;
    allocateAll("batch", {tokens * 16}, MemoryCategory::kInput, kNoLayer);
    for (std::size_t r = 0; r < m_devices.size(); ++r)
        m_devices[r].copyBatch(m_ranks[r], m_step, {tokens * 16}, m_ranks[r].now);
    phase(Phase::kData, kNoLayer, 350);
    forward();
    mark(1);
    backward();
    mark(2);
    finishStep();
    if (evaluates(step)) evaluate();
    for (std::size_t r = 0; r < m_devices.size(); ++r) {
        m_devices[r].readLoss(m_ranks[r], m_step, m_ranks[r].now);
        m_devices[r].sample(m_ranks[r], m_ranks[r].now, reserved());
    }
    const theory::StepContents contents = theory::stepContents(m_config);
    for (std::size_t r = 0; r < m_ranks.size(); ++r) {
        SampleRank& rank = m_ranks[r];
        rank.release("batch", rank.now);
        SpanEvent facts;
        facts.step = m_step;
        rank.span(lanes::kSteps.id, "step", {marks[0][r], rank.now}, facts);
        facts.depth = 1;
        rank.span(lanes::kSteps.id, "forward", {marks[0][r], marks[1][r]}, facts);
        rank.span(lanes::kSteps.id, "backward", {marks[1][r], marks[2][r]}, facts);
        rank.span(lanes::kSteps.id, "optimizer", {marks[2][r], rank.now}, facts);
        rank.counters.push_back({rank.now, lanes::kResidentSet.id, 5.4e8 + 1e6 * step});
        rank.counters.push_back(
            {rank.now, lanes::kCpuTime.id, static_cast<double>((rank.now - marks[0][r]).ns)});
        if (step == m_options.dropGathersOfStep) {
            const auto isGather = [](const CollectiveEvent& event) {
                return event.operation == CollectiveOp::kAllGather;
            };
            const auto last =
                std::find_if(rank.collectives.rbegin(), rank.collectives.rend(), isGather);
            rank.collectives.erase(std::next(last).base());
        }
        if (!m_options.memory) rank.memory.clear();
        m_steps.push_back({rank.id, m_step, marks[0][r], rank.now, tokens, contents.gathers,
                           contents.reductions, contents.phases, rank.emitted(), m_options.dropped,
                           (rank.now - marks[0][r]).ns, Bytes{540'000'000}, 7'000, 10'000'000});
    }
}

}  // namespace shardscope::test
