#include "engine/run/theory/theory.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/working_sizes.h"

#include <algorithm>
#include <vector>

namespace shardscope::theory {

std::vector<std::int64_t> ddpPieces(const run::RunConfig& config) {
    const auto& m = config.model;
    std::vector<std::int64_t> pieces;
    const std::int64_t total = padded(rootParameterCount(m), config.ranks) +
                               m.layers * padded(blockParameterCount(m), config.ranks);
    if (config.strategy == run::Strategy::kDdpFlat) return {total};
    if (config.strategy == run::Strategy::kDdpBucket) {
        const std::int64_t bucket = theory::bucketElements(config);
        for (std::int64_t at = 0; at < total; at += bucket)
            pieces.push_back(std::min(bucket, total - at));
        return pieces;
    }
    for (const run::ModelTensor& tensor : run::rootTensors(m)) pieces.push_back(tensor.count());
    const auto block = run::blockTensors(m, 0);
    for (std::int64_t i = 0; i < m.layers; ++i)
        for (const run::ModelTensor& tensor : block) pieces.push_back(tensor.count());
    return pieces;
}

namespace {

/// What DDP's all-reduces move, or in their place the gathers of pairs of index and value.
std::int64_t ddpTraffic(const run::RunConfig& config) {
    const std::int64_t others = config.ranks - 1;
    if (config.compression == run::Compression::kTopK) {
        std::int64_t bytes = 0;
        for (const std::int64_t count : ddpPieces(config))
            bytes += 2 * kFloatBytes * others * theory::keptElements(config.keptFraction, count);
        return bytes;
    }
    const std::int64_t each = config.compression == run::Compression::kBFloat16 ? 2 : kFloatBytes;
    return 2 * each * parameterCount(config.model) * others / config.ranks;
}

bool shardsParameters(run::Strategy strategy) {
    return strategy == run::Strategy::kZero3 || strategy == run::Strategy::kHsdp;
}

/// Of collectives of one kind in a step.
struct Moved {
    std::int64_t count = 0;
    std::int64_t elements = 0;
};

/// What a micro-step of zero3 or hsdp gathers. Forward: the root, every block, the root again for
/// the head; backward: every block but the last, which is still there. Of a vocabulary in pieces
/// the embedding takes each once, the head each twice, but the last, which is still there, once.
Moved gathersPerMicroStep(const run::RunConfig& config) {
    using Part = run::ModelUnit::Part;
    const auto& m = config.model;
    const auto units = run::modelUnits(config);
    const run::VocabularyPieces pieces = run::vocabularyPieces(config);
    Moved moved{-1, -blockParameterCount(m)};
    const auto add = [&](const run::ModelUnit& unit, std::int64_t times) {
        moved.count += times;
        moved.elements += times * unit.count();
    };
    for (const run::ModelUnit& unit : units) {
        const bool head = m.tieHead ? unit.part == Part::kTokens : unit.part == Part::kHead;
        const bool once = unit.index + 1 == pieces.count;
        if (unit.part != Part::kHead) add(unit, unit.part == Part::kTokens ? 1 : 2);
        if (head) add(unit, once ? 1 : 2);
    }
    return moved;
}

Moved gathersPerStep(const run::RunConfig& config) {
    const std::int64_t units = config.model.layers + 1;
    const std::int64_t all = parameterCount(config.model);
    const std::int64_t times = config.accumulate;
    // What stays gathered is not gathered again.
    if (config.keepGathered) return {units, all};
    if (!config.reshardAfterForward) return {times * units, times * all};
    const Moved each = gathersPerMicroStep(config);
    return {times * each.count, times * each.elements};
}

/// Every unit once; a tied table in pieces twice, from the head and from the embedding.
Moved reductionsOfUnits(const run::RunConfig& config) {
    Moved moved;
    for (const run::ModelUnit& unit : run::modelUnits(config)) {
        const bool twice = config.model.tieHead && unit.part == run::ModelUnit::Part::kTokens;
        moved.count += twice ? 2 : 1;
        moved.elements += (twice ? 2 : 1) * unit.count();
    }
    return moved;
}

/// Micro-steps that end with a reduction of every unit.
std::int64_t reducingMicroSteps(const run::RunConfig& config) {
    if (config.strategy == run::Strategy::kZero2) return config.accumulate;
    if (!shardsParameters(config.strategy)) return 1;
    return config.keepGathered || config.keepGradients ? 1 : config.accumulate;
}

std::int32_t recomputedBlocks(const run::RunConfig& config) {
    if (config.recomputeEvery == 0) return 0;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    return (layers + config.recomputeEvery - 1) / config.recomputeEvery;
}

}  // namespace

std::int32_t shardRanks(const run::RunConfig& config) {
    const bool groups = config.strategy == run::Strategy::kHsdp && config.shardRanks > 0;
    return groups ? config.shardRanks : config.ranks;
}

StepContents stepContents(const run::RunConfig& config) {
    using run::Strategy;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    const auto units = static_cast<std::int32_t>(run::modelUnits(config).size());
    const auto reductions =
        static_cast<std::int32_t>(reducingMicroSteps(config) * reductionsOfUnits(config).count);
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
            contents.gathers = static_cast<std::int32_t>(gathersPerStep(config).count);
            contents.reductions = reductions;
            // A shard of every unit goes across the groups.
            if (config.ranks > shardRanks(config)) contents.reductions += units;
            break;
        }
        default:
            contents.reductions = static_cast<std::int32_t>(ddpPieces(config).size());
    }
    // Forward and backward of embedding and blocks, the head, in one or two passes; clip and
    // optimizer once.
    const auto pieces = static_cast<std::int32_t>(run::vocabularyPieces(config).count);
    const std::int32_t embeddings = std::max(1, pieces);
    const std::int32_t heads = pieces > 1 ? 2 * pieces : 1;
    contents.phases =
        config.accumulate * (2 * (layers + embeddings) + heads + recomputedBlocks(config)) + 2;
    return contents;
}

Bytes trafficPerStep(const run::RunConfig& config) {
    using run::Strategy;
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
            const std::int64_t gathered = gathersPerStep(config).elements;
            const std::int64_t reduced =
                reducingMicroSteps(config) * reductionsOfUnits(config).elements;
            const std::int64_t each = narrow ? gradientBytes(config) : kFloatBytes;
            // An all-reduce is a reduce-scatter and a gather.
            return {ring(computeBytes(config) * gathered + each * reduced, group) +
                    ring(2 * kFloatBytes * all / group, config.ranks / group)};
        }
        default:
            return {ddpTraffic(config)};
    }
}

std::int64_t tokensPerStep(const run::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate * config.ranks;
}

}  // namespace shardscope::theory
