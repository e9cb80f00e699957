#include "engine/theory/theory.h"

#include "engine/control/head_chunk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardscope::theory {
namespace {

constexpr std::int64_t kFloatBytes = 4;

/// Of parameters in use, activations and logits.
std::int64_t computeBytes(const control::RunConfig& config) {
    const bool narrow = config.precision == control::Precision::kBFloat16 ||
                        config.precision == control::Precision::kFloat16;
    return narrow ? 2 : kFloatBytes;
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

/// Of which parts of the state a rank keeps only its share.
struct Sharding {
    bool parameters = false;
    bool gradients = false;
    bool optimizer = false;
};

Sharding shardingOf(control::Strategy strategy) {
    switch (strategy) {
        case control::Strategy::kZero1:
            return {false, false, true};
        case control::Strategy::kZero2:
            return {false, true, true};
        case control::Strategy::kZero3:
        case control::Strategy::kHsdp:
            return {true, true, true};
        default:
            return {};
    }
}

struct StateBytes {
    std::int64_t parameters = 0;  ///< with the fp32 master where they are computed with in bf16
    std::int64_t gradients = 0;
    std::int64_t moments = 0;
    [[nodiscard]] std::int64_t total() const { return parameters + gradients + moments; }
};

StateBytes stateBytes(const control::RunConfig& config) {
    const Sharding sharding = shardingOf(config.strategy);
    const std::int64_t n = parameterCount(config.model);
    const auto share = [&](bool sharded) { return sharded ? n / shardRanks(config) : n; };
    const bool copied = computeBytes(config) != kFloatBytes;
    StateBytes bytes;
    bytes.parameters = computeBytes(config) * share(sharding.parameters);
    if (copied) bytes.parameters += kFloatBytes * share(sharding.optimizer);
    bytes.gradients = kFloatBytes * share(sharding.gradients);
    bytes.moments = 2 * kFloatBytes * share(sharding.optimizer);
    return bytes;
}

/// Whether gradients of all units are kept whole until they are summed over ranks.
bool keepsWholeGradients(control::Strategy strategy) {
    return control::isDdp(strategy) || strategy == control::Strategy::kZero1;
}

/// Floats of a unit in its flat buffer, which splits into equal shards of whole cache lines
/// (engine/parallel/shard_layout.h).
std::int64_t padded(std::int64_t count, std::int64_t ranks) {
    constexpr std::int64_t kCacheLineFloats = 16;
    const std::int64_t step = ranks * kCacheLineFloats;
    return (count + step - 1) / step * step;
}

/// Pieces in which DDP sends the gradients of a step.
std::int64_t ddpPieces(const control::RunConfig& config) {
    constexpr std::int64_t kRootParameters = 4;
    constexpr std::int64_t kBlockParameters = 8;
    const auto& m = config.model;
    switch (config.strategy) {
        case control::Strategy::kDdpFlat:
            return 1;
        case control::Strategy::kDdpBucket: {
            const std::int64_t total = padded(rootParameterCount(m), config.ranks) +
                                       m.layers * padded(blockParameterCount(m), config.ranks);
            const std::int64_t bucket =
                std::max<std::int64_t>(1, std::llround(config.bucketMegabytes * 1e6 / kFloatBytes));
            return (total + bucket - 1) / bucket;
        }
        default:
            return kRootParameters + m.layers * kBlockParameters;
    }
}

}  // namespace

Bytes stateTheory(const control::RunConfig& config) {
    return {stateBytes(config).total()};
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
    const bool gathers = config.strategy == control::Strategy::kZero3;
    const bool wholeGradients = keepsWholeGradients(config.strategy);
    const StateBytes state = stateBytes(config);
    const std::int64_t tokens = std::int64_t{config.batch} * m.context;
    Moment head = headMoment(config, tokens);
    Moment backward = backwardMoment(config, tokens);
    if (!gathers) head.gathered = backward.gathered = 0;
    const Moment& peak = head.total() > backward.total() ? head : backward;

    MemoryByCategory theory{};
    const auto set = [&](MemoryCategory category, std::int64_t bytes) {
        theory[static_cast<std::size_t>(category)] = {bytes};
    };
    set(MemoryCategory::kParameterShard, state.parameters);
    set(wholeGradients ? MemoryCategory::kGradient : MemoryCategory::kGradientShard,
        state.gradients);
    set(MemoryCategory::kOptimizerState, state.moments);
    set(MemoryCategory::kGatheredParameter, peak.gathered);
    set(MemoryCategory::kTemporary, peak.temporary);
    set(MemoryCategory::kActivation, activationBytes(config, tokens));
    // Two slots of block gradients take turns; the root has one of its own.
    const bool slots = shardingOf(config.strategy).gradients;
    if (slots) {
        set(MemoryCategory::kGradient,
            gradientBytes(config) * (2 * blockParameterCount(m) + rootParameterCount(m)));
    }
    // On a GPU reduced gradients arrive beside the shard that they are added to.
    if (slots && config.device == control::Device::kCuda) {
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

namespace {

bool shardsParameters(control::Strategy strategy) {
    return strategy == control::Strategy::kZero3 || strategy == control::Strategy::kHsdp;
}

/// How often a step of zero3 or hsdp gathers the root and all blocks together.
struct Gathers {
    std::int64_t root = 0;
    std::int64_t blocks = 0;
};

/// Forward: the root, every block, the root again for the head; backward: every block but the
/// last, which is still there. What stays gathered is not gathered again.
Gathers gathersPerStep(const control::RunConfig& config) {
    const std::int64_t layers = config.model.layers;
    if (config.keepGathered) return {1, layers};
    if (!config.reshardAfterForward) return {config.accumulate, config.accumulate * layers};
    return {2 * config.accumulate, config.accumulate * (2 * layers - 1)};
}

/// Micro-steps that end with a reduction of every unit.
std::int64_t reducingMicroSteps(const control::RunConfig& config) {
    if (config.strategy == control::Strategy::kZero2) return config.accumulate;
    if (!shardsParameters(config.strategy)) return 1;
    return config.keepGathered || config.keepGradients ? 1 : config.accumulate;
}

std::int32_t recomputedBlocks(const control::RunConfig& config) {
    if (config.recomputeEvery == 0) return 0;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    return (layers + config.recomputeEvery - 1) / config.recomputeEvery;
}

}  // namespace

std::int32_t shardRanks(const control::RunConfig& config) {
    const bool groups = config.strategy == control::Strategy::kHsdp && config.shardRanks > 0;
    return groups ? config.shardRanks : config.ranks;
}

StepContents stepContents(const control::RunConfig& config) {
    using control::Strategy;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    const auto reductions = static_cast<std::int32_t>(reducingMicroSteps(config) * (layers + 1));
    StepContents contents;
    switch (config.strategy) {
        case Strategy::kSingle:
            break;
        case Strategy::kZero1:
        case Strategy::kZero2:
            contents.gathers = contents.updateGathers = layers + 1;  // every unit once, updated
            contents.reductions = reductions;
            break;
        case Strategy::kZero3:
        case Strategy::kHsdp: {
            const Gathers gathers = gathersPerStep(config);
            contents.gathers = static_cast<std::int32_t>(gathers.root + gathers.blocks);
            contents.reductions = reductions;
            // A shard of every unit goes across the groups.
            if (config.ranks > shardRanks(config)) contents.reductions += layers + 1;
            break;
        }
        default:
            contents.reductions = static_cast<std::int32_t>(ddpPieces(config));
    }
    // Forward and backward of embedding and blocks, the head; clip and optimizer once.
    contents.phases = config.accumulate * (2 * (layers + 1) + 1 + recomputedBlocks(config)) + 2;
    return contents;
}

Bytes trafficPerStep(const control::RunConfig& config) {
    using control::Strategy;
    const auto& m = config.model;
    const std::int64_t all = parameterCount(m);
    const std::int64_t group = shardRanks(config);
    const auto ring = [](std::int64_t bytes, std::int64_t ranks) {
        return bytes * (ranks - 1) / ranks;
    };
    const bool narrow = !config.keepGathered && !config.keepGradients;
    switch (config.strategy) {
        case Strategy::kSingle:
            return {};
        case Strategy::kZero1:
            return {ring((kFloatBytes + computeBytes(config)) * all, group)};
        case Strategy::kZero2:
            return {ring((config.accumulate * gradientBytes(config) + computeBytes(config)) * all,
                         group)};
        case Strategy::kZero3:
        case Strategy::kHsdp: {
            const Gathers gathers = gathersPerStep(config);
            const std::int64_t gathered =
                gathers.root * rootParameterCount(m) + gathers.blocks * blockParameterCount(m);
            const std::int64_t reduced = reducingMicroSteps(config) * all;
            const std::int64_t each = narrow ? gradientBytes(config) : kFloatBytes;
            // An all-reduce is a reduce-scatter and a gather.
            return {ring(computeBytes(config) * gathered + each * reduced, group) +
                    ring(2 * kFloatBytes * all / group, config.ranks / group)};
        }
        default:
            return {ring(2 * kFloatBytes * all, group)};
    }
}

std::int64_t tokensPerStep(const control::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate * config.ranks;
}

}  // namespace shardscope::theory
