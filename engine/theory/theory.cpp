#include "engine/theory/theory.h"

#include <algorithm>
#include <numeric>

namespace shardscope::theory {
namespace {

constexpr std::int64_t kFloatBytes = 4;

/// Activations kept for backward, in floats. A block keeps its input, both norms' outputs with
/// mean and inverse deviation, q k v, the attention output with its log-sum-exp, the first
/// residual, the fc output and the GELU output: 16 C + 4 + H a token; the last output is C more.
std::int64_t activationFloats(const control::ModelConfig& m, std::int64_t tokens) {
    return tokens * (m.layers * (16 * m.hidden + 4 + m.heads) + m.hidden);
}

/// Floats of logits that the fused head holds twice (engine/kernels/cross_entropy.cpp).
std::int64_t logitFloats(const control::ModelConfig& m, std::int64_t tokens) {
    constexpr std::int64_t kChunkFloats = std::int64_t{2} << 20;
    return std::min(tokens, std::max<std::int64_t>(1, kChunkFloats / m.vocabulary)) * m.vocabulary;
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
    return {16 * parameterCount(config.model) / shards};
}

namespace {

/// What is there besides state and activations at one of the two moments that can be the peak.
struct Moment {
    std::int64_t gathered = 0;
    std::int64_t temporary = 0;
    [[nodiscard]] std::int64_t total() const { return gathered + temporary; }
};

/// In the head: root and last block are gathered; its input's norm, its gradient, two chunks of
/// logits are temporary.
Moment headMoment(const control::ModelConfig& m, std::int64_t tokens) {
    return {rootParameterCount(m) + blockParameterCount(m),
            2 * tokens * m.hidden + 2 * logitFloats(m, tokens)};
}

/// In the last block's backward: it and the prefetched ones are gathered; the gradients of its
/// output and of the GELU output are temporary.
Moment backwardMoment(const control::RunConfig& config, std::int64_t tokens) {
    const auto& m = config.model;
    const std::int64_t blocks = std::min<std::int64_t>(m.layers, 1 + config.prefetch);
    return {blocks * blockParameterCount(m), 5 * tokens * m.hidden};
}

}  // namespace

MemoryByCategory memoryTheory(const control::RunConfig& config) {
    const auto& m = config.model;
    const bool sharded = config.strategy == control::Strategy::kZero3;
    const std::int64_t state = parameterCount(m) / (sharded ? config.ranks : 1);
    const std::int64_t tokens = std::int64_t{config.batch} * m.context;
    Moment head = headMoment(m, tokens);
    Moment backward = backwardMoment(config, tokens);
    if (!sharded) head.gathered = backward.gathered = 0;
    const Moment& peak = head.total() > backward.total() ? head : backward;

    MemoryByCategory theory{};
    const auto set = [&](MemoryCategory category, std::int64_t count) {
        theory[static_cast<std::size_t>(category)] = {kFloatBytes * count};
    };
    set(MemoryCategory::kParameterShard, state);
    set(MemoryCategory::kGradientShard, state);
    set(MemoryCategory::kOptimizerState, 2 * state);
    set(MemoryCategory::kGatheredParameter, peak.gathered);
    set(MemoryCategory::kTemporary, peak.temporary);
    set(MemoryCategory::kActivation, activationFloats(m, tokens));
    // Two slots of block gradients take turns; the root has one of its own.
    if (sharded) {
        set(MemoryCategory::kGradient, 2 * blockParameterCount(m) + rootParameterCount(m));
    }
    set(MemoryCategory::kInput, 2 * 2 * tokens);  // tokens and targets, int64
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
    return {kFloatBytes * config.accumulate * (gathered + reduced) * (config.ranks - 1) /
            config.ranks};
}

std::int64_t tokensPerStep(const control::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate * config.ranks;
}

}  // namespace shardscope::theory
