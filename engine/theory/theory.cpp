#include "engine/theory/theory.h"

#include "engine/control/head_chunk.h"

#include <algorithm>
#include <numeric>

namespace shardscope::theory {
namespace {

constexpr std::int64_t kFloatBytes = 4;

/// Of parameters in use, activations and logits.
std::int64_t computeBytes(const control::RunConfig& config) {
    return config.precision == control::Precision::kBFloat16 ? 2 : kFloatBytes;
}

std::int64_t gradientBytes(const control::RunConfig& config) {
    return config.reduceIn == control::GradientType::kBFloat16 ? 2 : kFloatBytes;
}

/// Activations kept for backward, in bytes. A block keeps its input, both norms' outputs, q k v,
/// the attention output, the first residual, the fc output and the GELU output, 16 C a token, and
/// in fp32 the norms' means and inverse deviations and the attention's log-sum-exp, 4 + H; the
/// last output is C more.
std::int64_t activationBytes(const control::RunConfig& config, std::int64_t tokens) {
    const auto& m = config.model;
    return tokens * (computeBytes(config) * (m.layers * 16 * m.hidden + m.hidden) +
                     kFloatBytes * m.layers * (4 + m.heads));
}

/// Bytes of logits that the fused head holds: twice on a CPU, once and in place on a GPU
/// (engine/kernels/cross_entropy.cpp).
std::int64_t logitBytes(const control::RunConfig& config, std::int64_t tokens) {
    const auto& m = config.model;
    const bool cpu = config.device == control::Device::kCpu;
    const std::int64_t chunk = cpu ? control::kHostLogitChunk : control::kDeviceLogitChunk;
    const std::int64_t rows = std::min(tokens, std::max<std::int64_t>(1, chunk / m.vocabulary));
    return rows * m.vocabulary * (cpu ? kFloatBytes + computeBytes(config) : computeBytes(config));
}

}  // namespace

std::int64_t blockParameterCount(const control::ModelConfig& m) {
    return 12 * m.hidden * m.hidden + 4 * m.hidden;
}

std::int64_t rootParameterCount(const control::ModelConfig& m) {
    return (m.vocabulary + m.context + 2) * m.hidden;
}

std::int64_t parameterCount(const control::ModelConfig& m) {
    return rootParameterCount(m) + m.layers * blockParameterCount(m);
}

double palmFlopsPerToken(const control::ModelConfig& m) {
    return 6.0 * static_cast<double>(parameterCount(m)) +
           12.0 * static_cast<double>(m.layers * m.hidden * m.context);
}

Bytes stateTheory(const control::RunConfig& config) {
    const std::int64_t shards = config.strategy == control::Strategy::kZero3 ? config.ranks : 1;
    const std::int64_t each = config.precision == control::Precision::kBFloat16 ? 18 : 16;
    return {each * parameterCount(config.model) / shards};
}

namespace {

/// What is there besides state and activations at one of the two moments that can be the peak.
struct Moment {
    std::int64_t gathered = 0;  ///< bytes
    std::int64_t temporary = 0;
    [[nodiscard]] std::int64_t total() const { return gathered + temporary; }
};

/// In the head: root and last block are gathered; its input's norm, its gradient and the chunk of
/// logits are temporary.
Moment headMoment(const control::RunConfig& config, std::int64_t tokens) {
    const auto& m = config.model;
    return {computeBytes(config) * (rootParameterCount(m) + blockParameterCount(m)),
            computeBytes(config) * 2 * tokens * m.hidden + logitBytes(config, tokens)};
}

/// In the last block's backward: it and the prefetched ones are gathered; the gradients of its
/// output and of the GELU output are temporary.
Moment backwardMoment(const control::RunConfig& config, std::int64_t tokens) {
    const auto& m = config.model;
    const std::int64_t blocks = std::min<std::int64_t>(m.layers, 1 + config.prefetch);
    return {computeBytes(config) * blocks * blockParameterCount(m),
            computeBytes(config) * 5 * tokens * m.hidden};
}

}  // namespace

MemoryByCategory memoryTheory(const control::RunConfig& config) {
    const auto& m = config.model;
    const bool sharded = config.strategy == control::Strategy::kZero3;
    const std::int64_t state = parameterCount(m) / (sharded ? config.ranks : 1);
    const std::int64_t tokens = std::int64_t{config.batch} * m.context;
    Moment head = headMoment(config, tokens);
    Moment backward = backwardMoment(config, tokens);
    if (!sharded) head.gathered = backward.gathered = 0;
    const Moment& peak = head.total() > backward.total() ? head : backward;

    MemoryByCategory theory{};
    const auto set = [&](MemoryCategory category, std::int64_t bytes) {
        theory[static_cast<std::size_t>(category)] = {bytes};
    };
    const bool copied = config.precision == control::Precision::kBFloat16;
    set(MemoryCategory::kParameterShard, (kFloatBytes + (copied ? 2 : 0)) * state);
    set(MemoryCategory::kGradientShard, kFloatBytes * state);
    set(MemoryCategory::kOptimizerState, 2 * kFloatBytes * state);
    set(MemoryCategory::kGatheredParameter, peak.gathered);
    set(MemoryCategory::kTemporary, peak.temporary);
    set(MemoryCategory::kActivation, activationBytes(config, tokens));
    // Two slots of block gradients take turns; the root has one of its own.
    if (sharded) {
        set(MemoryCategory::kGradient,
            gradientBytes(config) * (2 * blockParameterCount(m) + rootParameterCount(m)));
    }
    // On a GPU reduced gradients arrive beside the shard that they are added to.
    if (sharded && config.device == control::Device::kCuda) {
        set(MemoryCategory::kCommunication,
            gradientBytes(config) * std::max(blockParameterCount(m), rootParameterCount(m)) /
                config.ranks);
    }
    set(MemoryCategory::kInput, 2 * 8 * tokens);  // tokens and targets, int64
    return theory;
}

Bytes total(const MemoryByCategory& categories) {
    return std::accumulate(categories.begin(), categories.end(), Bytes{});
}

StepContents stepContents(const control::RunConfig& config) {
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    const bool sharded = config.strategy == control::Strategy::kZero3;
    StepContents contents;
    // Forward: the root, every block, the root again for the head; backward: every block but
    // the last, which is still there.
    contents.gathers = sharded ? config.accumulate * (2 * layers + 1) : 0;
    contents.reductions = sharded ? config.accumulate * (layers + 1) : 0;
    // Forward and backward of embedding and blocks, the head; clip and optimizer once.
    contents.phases = config.accumulate * (2 * (layers + 1) + 1) + 2;
    return contents;
}

Bytes trafficPerStep(const control::RunConfig& config) {
    if (config.strategy != control::Strategy::kZero3) return {};
    const auto& m = config.model;
    const std::int64_t gathered =
        2 * rootParameterCount(m) + (2 * m.layers - 1) * blockParameterCount(m);
    const std::int64_t reduced = parameterCount(m);
    const std::int64_t bytes = computeBytes(config) * gathered + gradientBytes(config) * reduced;
    return {config.accumulate * bytes * (config.ranks - 1) / config.ranks};
}

std::int64_t tokensPerStep(const control::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate * config.ranks;
}

}  // namespace shardscope::theory
