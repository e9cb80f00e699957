#include "engine/run/theory/theory.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/working_sizes.h"

#include <algorithm>
#include <vector>

namespace shardscope::theory {

PartCounts partCounts(const run::RunConfig& config) {
    run::RunConfig one = config;
    one.model.layers = 1;
    PartCounts counts;
    for (const run::ModelUnit& unit : run::modelUnits(one))
        (unit.part == run::ModelUnit::Part::kBlock ? counts.block : counts.outside) += unit.count();
    counts.all = counts.outside + config.model.layers * counts.block;
    return counts;
}

namespace {

bool shardsParameters(run::Strategy strategy) {
    return strategy == run::Strategy::kZero3 || strategy == run::Strategy::kHsdp;
}

}  // namespace

bool reducesEachMicroStep(const run::RunConfig& config) {
    if (config.strategy == run::Strategy::kZero2) return true;
    return shardsParameters(config.strategy) && !config.keepGathered && !config.keepGradients;
}

std::vector<std::int64_t> ddpPieces(const run::RunConfig& config) {
    const auto& m = config.model;
    std::vector<std::int64_t> pieces;
    const PartCounts counts = partCounts(config);
    const std::int64_t replicas = run::replicasOf(config);
    const std::int64_t total =
        padded(counts.outside, replicas) + m.layers * padded(counts.block, replicas);
    if (config.strategy == run::Strategy::kDdpFlat) return {total};
    if (config.strategy == run::Strategy::kDdpBucket) {
        const std::int64_t bucket = theory::bucketElements(config);
        for (std::int64_t at = 0; at < total; at += bucket)
            pieces.push_back(std::min(bucket, total - at));
        return pieces;
    }
    run::RunConfig one = config;
    one.model.layers = 1;
    for (const run::ModelUnit& unit : run::modelUnits(one)) {
        const bool block = unit.part == run::ModelUnit::Part::kBlock;
        for (std::int64_t i = 0; i < (block ? m.layers : 1); ++i)
            for (const run::ModelTensor& tensor : unit.tensors) pieces.push_back(tensor.count());
    }
    return pieces;
}

namespace {

/// What DDP's all-reduces move, or in their place the gathers of pairs of index and value.
std::int64_t ddpTraffic(const run::RunConfig& config) {
    const std::int64_t replicas = run::replicasOf(config), others = replicas - 1;
    if (config.compression == run::Compression::kTopK) {
        std::int64_t bytes = 0;
        for (const std::int64_t count : ddpPieces(config))
            bytes += 2 * kFloatBytes * others * theory::keptElements(config.keptFraction, count);
        return bytes;
    }
    const std::int64_t each = config.compression == run::Compression::kBFloat16 ? 2 : kFloatBytes;
    return 2 * each * partCounts(config).all * others / replicas;
}

/// Of collectives of one kind in a step.
struct Moved {
    std::int64_t count = 0;
    std::int64_t elements = 0;
};

/// Of the vocabulary, 0 where it is in the root.
std::int64_t headPieces(const std::vector<run::ModelUnit>& units) {
    return std::count_if(units.begin(), units.end(), [](const run::ModelUnit& unit) {
        return unit.part == run::ModelUnit::Part::kTokens;
    });
}

/// What a micro-step of zero3 or hsdp gathers. Forward: the root, every block, the root again for
/// the head; backward: every block but the last, which is still there. Of a vocabulary in pieces
/// the embedding takes each once, the head each twice, but the last, which is still there, once.
Moved gathersPerMicroStep(const run::RunConfig& config, std::int32_t tensor) {
    using Part = run::ModelUnit::Part;
    const auto& m = config.model;
    const auto units = run::modelUnits(config, {tensor, config.tensor});
    const std::int64_t pieces = headPieces(units);
    Moved moved{-1, -partCounts(config).block};
    const auto add = [&](const run::ModelUnit& unit, std::int64_t times) {
        moved.count += times;
        moved.elements += times * unit.count();
    };
    for (const run::ModelUnit& unit : units) {
        const bool head = m.tieHead ? unit.part == Part::kTokens : unit.part == Part::kHead;
        const bool once = unit.index + 1 == pieces;
        if (unit.part != Part::kHead) add(unit, unit.part == Part::kTokens ? 1 : 2);
        if (head) add(unit, once ? 1 : 2);
    }
    return moved;
}

Moved gathersPerStep(const run::RunConfig& config, std::int32_t tensor) {
    const std::int64_t units = config.model.layers + 1;
    const std::int64_t all = partCounts(config).all;
    const std::int64_t times = config.accumulate;
    // What stays gathered is not gathered again.
    if (config.keepGathered) return {units, all};
    if (!config.reshardAfterForward) return {times * units, times * all};
    const Moved each = gathersPerMicroStep(config, tensor);
    return {times * each.count, times * each.elements};
}

/// Every unit once; a tied table in pieces twice, from the head and from the embedding.
Moved reductionsOfUnits(const run::RunConfig& config, std::int32_t tensor) {
    Moved moved;
    for (const run::ModelUnit& unit : run::modelUnits(config, {tensor, config.tensor})) {
        const bool twice = config.model.tieHead && unit.part == run::ModelUnit::Part::kTokens;
        moved.count += twice ? 2 : 1;
        moved.elements += (twice ? 2 : 1) * unit.count();
    }
    return moved;
}

/// Micro-steps that end with a reduction of every unit.
std::int64_t reducingMicroSteps(const run::RunConfig& config) {
    return reducesEachMicroStep(config) ? config.accumulate : 1;
}

std::int32_t recomputedBlocks(const run::RunConfig& config) {
    if (config.recomputeEvery == 0) return 0;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    return (layers + config.recomputeEvery - 1) / config.recomputeEvery;
}

/// The head's rows come in chunks, of whose logits each rank has a part of the columns; in pieces
/// all rows at once.
void addStatistics(const run::RunConfig& config, std::int64_t rows, std::vector<Exchange>& all) {
    const auto add = [&](std::int64_t count, std::int64_t each) {
        if (count > 0)
            all.push_back({CollectiveOp::kAllGather,
                           Cause::kActivation,
                           config.accumulate * count,
                           {config.tensor * each * kRowStatistics * kFloatBytes}});
    };
    if (run::vocabularyPieces(config).count > 1) return add(1, rows);
    const std::int64_t width = (config.model.vocabulary + config.tensor - 1) / config.tensor;
    const std::int64_t chunk = logitBuffer(config.device != run::Device::kCpu, rows, width).rows;
    add(rows / chunk, chunk);
    add(rows % chunk == 0 ? 0 : 1, rows % chunk);
}

}  // namespace

std::int32_t shardRanks(const run::RunConfig& config) {
    const bool groups = config.strategy == run::Strategy::kHsdp && config.shardRanks > 0;
    return groups ? config.shardRanks : run::replicasOf(config);
}

namespace {

/// Those that interrupt no phase: the sum of embeddings, and with --sequence the gather of their
/// gradients and the sums of norms' gradients.
std::int32_t exchangesBetweenPhases(const run::RunConfig& config) {
    if (config.tensor == 1) return 0;
    const std::int64_t vectors = config.sequence ? config.model.layers + 1 : 0;
    return static_cast<std::int32_t>(config.accumulate * (config.sequence ? 2 : 1) +
                                     reducingMicroSteps(config) * vectors);
}

}  // namespace

std::vector<Exchange> exchangesPerStep(const run::RunConfig& config) {
    if (config.tensor == 1) return {};
    const auto& m = config.model;
    const std::int64_t steps = config.accumulate, rows = std::int64_t{config.batch} * m.context;
    const std::int64_t recomputed = recomputedBlocks(config);
    const Bytes whole{rows * m.hidden * computeBytes(config)};
    const auto forward = [&](CollectiveOp operation, std::int64_t count) {
        return Exchange{operation, Cause::kActivation, steps * count, whole};
    };
    const auto backward = [&](CollectiveOp operation, std::int64_t count) {
        return Exchange{operation, Cause::kActivationGradient, steps * count, whole};
    };
    // Of the embedding, each block and the head, whose two passes are one phase.
    const std::int64_t blocks = m.layers + recomputed;
    const std::int64_t sums = 2 + 2 * blocks, sumsBack = 2 * m.layers;
    std::vector<Exchange> all;
    if (!config.sequence) {
        all = {forward(CollectiveOp::kAllReduce, sums),
               backward(CollectiveOp::kAllReduce, sumsBack)};
    } else {
        all = {forward(CollectiveOp::kReduceScatter, sums),
               forward(CollectiveOp::kAllGather, 1 + 2 * blocks),
               backward(CollectiveOp::kReduceScatter, sumsBack),
               backward(CollectiveOp::kAllGather, 1 + 4 * m.layers)};
        const std::int64_t vectors = m.norm == run::Norm::kLayerNorm ? 2 : 1;
        const std::int64_t times = reducingMicroSteps(config);
        const std::int64_t each = kFloatBytes * vectors * m.hidden;
        all.push_back(
            {CollectiveOp::kAllReduce, Cause::kActivationGradient, times * m.layers, {2 * each}});
        all.push_back({CollectiveOp::kAllReduce, Cause::kActivationGradient, times, {each}});
    }
    addStatistics(config, rows, all);
    return all;
}

StepContents stepContents(const run::RunConfig& config, std::int32_t tensor) {
    using run::Strategy;
    const auto layers = static_cast<std::int32_t>(config.model.layers);
    const auto all = run::modelUnits(config, {tensor, config.tensor});
    const auto units = static_cast<std::int32_t>(all.size());
    const auto reductions = static_cast<std::int32_t>(reducingMicroSteps(config) *
                                                      reductionsOfUnits(config, tensor).count);
    StepContents contents;
    for (const Exchange& each : exchangesPerStep(config))
        contents.exchanges += static_cast<std::int32_t>(each.count);
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
            contents.gathers = static_cast<std::int32_t>(gathersPerStep(config, tensor).count);
            contents.reductions = reductions;
            // A shard of every unit goes across the groups.
            if (run::replicasOf(config) > shardRanks(config)) contents.reductions += units;
            break;
        }
        default:
            contents.reductions = static_cast<std::int32_t>(ddpPieces(config).size());
    }
    // Forward and backward of embedding and blocks, the head, in one or two passes; clip and
    // optimizer once.
    const auto pieces = static_cast<std::int32_t>(headPieces(all));
    const std::int32_t embeddings = std::max(1, pieces);
    const std::int32_t heads = pieces > 1 ? 2 * pieces : 1;
    contents.phases =
        config.accumulate * (2 * (layers + embeddings) + heads + recomputedBlocks(config)) + 2;
    contents.phases += contents.exchanges - exchangesBetweenPhases(config);
    return contents;
}

namespace {

std::int64_t ring(std::int64_t bytes, std::int64_t ranks) {
    return bytes * (ranks - 1) / ranks;
}

std::int64_t exchangedBytes(const run::RunConfig& config) {
    std::int64_t bytes = 0;
    for (const Exchange& each : exchangesPerStep(config)) {
        const std::int64_t times = each.operation == CollectiveOp::kAllReduce ? 2 : 1;
        bytes += ring(times * each.count * each.size.count, config.tensor);
    }
    return bytes;
}

/// Between ranks that have the same part of the model.
std::int64_t stateTraffic(const run::RunConfig& config) {
    using run::Strategy;
    const std::int64_t all = partCounts(config).all;
    const std::int64_t group = shardRanks(config);
    const bool narrow = !config.keepGathered && !config.keepGradients;
    switch (config.strategy) {
        case Strategy::kSingle:
            return 0;
        case Strategy::kZero1:
            return ring((kFloatBytes + computeBytes(config)) * all, group);
        case Strategy::kZero2:
            return ring((config.accumulate * gradientBytes(config) + computeBytes(config)) * all,
                        group);
        case Strategy::kZero3:
        case Strategy::kHsdp: {
            const std::int64_t gathered = gathersPerStep(config, 0).elements;
            const std::int64_t reduced =
                reducingMicroSteps(config) * reductionsOfUnits(config, 0).elements;
            const std::int64_t each = narrow ? gradientBytes(config) : kFloatBytes;
            // An all-reduce is a reduce-scatter and a gather.
            return ring(computeBytes(config) * gathered + each * reduced, group) +
                   ring(2 * kFloatBytes * all / group, run::replicasOf(config) / group);
        }
        default:
            return ddpTraffic(config);
    }
}

}  // namespace

Bytes trafficPerStep(const run::RunConfig& config) {
    return {stateTraffic(config) + exchangedBytes(config)};
}

std::int64_t tokensPerStep(const run::RunConfig& config) {
    return std::int64_t{config.batch} * config.model.context * config.accumulate *
           run::replicasOf(config);
}

}  // namespace shardscope::theory
