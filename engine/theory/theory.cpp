#include "engine/theory/theory.h"

#include <numeric>

namespace shardscope::theory {
namespace {

constexpr std::int64_t kFloatBytes = 4;

std::size_t index(MemoryCategory category) {
    return static_cast<std::size_t>(category);
}

/// Activations that one block keeps for its backward, in floats: its input, the two norms with
/// mean and inverse deviation, q k v, attention output and log-sum-exp, first residual,
/// fc output and GELU output. Per token 17 C + 4 + H (engine/gpt/block.h).
std::int64_t blockActivationFloats(const control::ModelConfig& m, std::int64_t tokens) {
    return tokens * (17 * m.hidden + 4 + m.heads);
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

MemoryByCategory memoryTheory(const control::RunConfig& config) {
    const auto& m = config.model;
    const bool sharded = config.strategy == control::Strategy::kZero3;
    const std::int64_t shards = sharded ? config.ranks : 1;
    const std::int64_t state = kFloatBytes * parameterCount(m) / shards;
    const std::int64_t tokens = std::int64_t{config.batch} * m.context;
    const std::int64_t block = kFloatBytes * blockParameterCount(m);
    const std::int64_t root = kFloatBytes * rootParameterCount(m);

    MemoryByCategory theory{};
    theory[index(MemoryCategory::kParameterShard)] = {state};
    theory[index(MemoryCategory::kGradientShard)] = {state};
    theory[index(MemoryCategory::kOptimizerState)] = {2 * state};
    // Peak is at the start of backward: the last block in use, the next ones prefetched.
    const std::int64_t gathered = std::min<std::int64_t>(m.layers, 1 + config.prefetch);
    if (sharded) theory[index(MemoryCategory::kGatheredParameter)] = {gathered * block + root};
    // Two slots of block gradients take turns; the root's are alive from head to embedding.
    theory[index(MemoryCategory::kGradient)] = {std::min<std::int64_t>(2, m.layers) * block + root};
    theory[index(MemoryCategory::kActivation)] = {kFloatBytes * m.layers *
                                                  blockActivationFloats(m, tokens)};
    theory[index(MemoryCategory::kInput)] = {2 * 8 * tokens};
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
