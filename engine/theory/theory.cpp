#include "engine/theory/theory.h"

#include "engine/control/gradient_pieces.h"
#include "engine/theory/sizes.h"

#include <algorithm>
#include <vector>

namespace shardscope::theory {
namespace {

/// Elements of the pieces in which DDP sends the gradients of a step.
std::vector<std::int64_t> ddpPieces(const control::RunConfig& config) {
    const auto& m = config.model;
    std::vector<std::int64_t> pieces;
    const std::int64_t total = padded(rootParameterCount(m), config.ranks) +
                               m.layers * padded(blockParameterCount(m), config.ranks);
    if (config.strategy == control::Strategy::kDdpFlat) return {total};
    if (config.strategy == control::Strategy::kDdpBucket) {
        const std::int64_t bucket = control::bucketElements(config);
        for (std::int64_t at = 0; at < total; at += bucket)
            pieces.push_back(std::min(bucket, total - at));
        return pieces;
    }
    for (const control::ModelTensor& tensor : control::rootTensors(m))
        pieces.push_back(tensor.count());
    for (std::int64_t i = 0; i < m.layers; ++i)
        for (const control::ModelTensor& tensor : control::blockTensors(m, i))
            pieces.push_back(tensor.count());
    return pieces;
}

/// What DDP's all-reduces move, or in their place the gathers of pairs of index and value.
std::int64_t ddpTraffic(const control::RunConfig& config) {
    const std::int64_t others = config.ranks - 1;
    if (config.compression == control::Compression::kTopK) {
        std::int64_t bytes = 0;
        for (const std::int64_t count : ddpPieces(config))
            bytes += 2 * kFloatBytes * others * control::keptElements(config.keptFraction, count);
        return bytes;
    }
    const std::int64_t each =
        config.compression == control::Compression::kBFloat16 ? 2 : kFloatBytes;
    return 2 * each * parameterCount(config.model) * others / config.ranks;
}

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
            contents.reductions = static_cast<std::int32_t>(ddpPieces(config).size());
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
            return {ddpTraffic(config)};
    }
}

std::int64_t tokensPerStep(const control::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate * config.ranks;
}

}  // namespace shardscope::theory
