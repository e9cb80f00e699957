#include "engine/run/theory/model_theory.h"

#include <numeric>

namespace shardscope::theory {
namespace {

double real(std::int64_t value) {
    return static_cast<double>(value);
}

std::int64_t count(const std::vector<run::ModelTensor>& tensors) {
    return std::accumulate(
        tensors.begin(), tensors.end(), std::int64_t{0},
        [](std::int64_t sum, const run::ModelTensor& tensor) { return sum + tensor.count(); });
}

/// Rows of tables that are looked up, not multiplied by (unless the head is tied to one).
std::int64_t positionCount(const run::ModelConfig& m) {
    return m.position == run::Position::kLearned ? m.context * m.hidden : 0;
}

/// Of the weights that matrix products go through, with `vocabulary` rows in the head.
double multipliedBy(const run::ModelConfig& m, std::int64_t vocabulary) {
    const std::int64_t matrices = m.ffn == run::FeedForward::kSwiglu ? 3 : 2;
    return real(m.layers * (4 * m.hidden + matrices * m.innerWidth()) * m.hidden) +
           real(vocabulary * m.hidden);
}

/// Scores and mixture of all layers, forward and backward, with T keys a query.
double fullAttention(const run::ModelConfig& m) {
    return 12.0 * real(m.layers * m.hidden * m.context);
}

std::int64_t paddedVocabulary(const run::ModelConfig& m) {
    constexpr std::int64_t kMultiple = 128;  // Megatron-LM's default on one GPU a model
    return (m.vocabulary + kMultiple - 1) / kMultiple * kMultiple;
}

}  // namespace

std::int64_t rootParameterCount(const run::ModelConfig& m) {
    return count(run::rootTensors(m));
}

std::int64_t blockParameterCount(const run::ModelConfig& m) {
    return count(run::blockTensors(m, 0));
}

std::int64_t parameterCount(const run::ModelConfig& m) {
    return rootParameterCount(m) + m.layers * blockParameterCount(m);
}

std::int64_t parameterTensorCount(const run::ModelConfig& m) {
    return static_cast<std::int64_t>(run::rootTensors(m).size()) +
           m.layers * static_cast<std::int64_t>(run::blockTensors(m, 0).size());
}

FlopsByPart forwardFlopsPerToken(const run::ModelConfig& m, AttentionCount attention) {
    const double layers = real(m.layers), hidden = real(m.hidden), inner = real(m.innerWidth());
    const double keys =
        attention == AttentionCount::kFull ? real(m.context) : (real(m.context) + 1) / 2;
    const double matrices = m.ffn == run::FeedForward::kSwiglu ? 3 : 2;
    FlopsByPart flops;
    flops.qkv = layers * 6 * hidden * hidden;
    flops.attention = layers * 4 * hidden * keys;
    flops.projection = layers * 2 * hidden * hidden;
    flops.feedForward = layers * 2 * matrices * hidden * inner;
    flops.head = 2 * hidden * real(m.vocabulary);
    return flops;
}

double flopsPerToken(const run::ModelConfig& m, FlopsVariant variant) {
    const std::int64_t n = parameterCount(m);
    const std::int64_t positions = positionCount(m);
    const std::int64_t looked = positions + (m.tieHead ? 0 : m.vocabulary * m.hidden);
    switch (variant) {
        case FlopsVariant::kSixN:
            return 6.0 * real(n);
        case FlopsVariant::kPalm:
        case FlopsVariant::kFoundry:
            return 6.0 * real(n) + fullAttention(m);
        case FlopsVariant::kNanoGpt:
            return 6.0 * real(n - positions) + fullAttention(m);
        case FlopsVariant::kTitan:
            return 6.0 * real(n - looked) + fullAttention(m);
        case FlopsVariant::kLlmc:
            return 6.0 * real(n) + fullAttention(m) / 2;
        case FlopsVariant::kMegatron2021:
            return 6.0 * multipliedBy(m, m.vocabulary) + fullAttention(m);
        case FlopsVariant::kMegatronNow:
            return 6.0 * multipliedBy(m, paddedVocabulary(m)) + fullAttention(m) / 2;
        case FlopsVariant::kExact:
            return 3.0 * forwardFlopsPerToken(m, AttentionCount::kCausal).total();
    }
    return 0;
}

double palmFlopsPerToken(const run::ModelConfig& m) {
    return flopsPerToken(m, FlopsVariant::kPalm);
}

double executedFlopsPerToken(const run::ModelConfig& m, std::int64_t recomputedBlocks) {
    const FlopsByPart forward = forwardFlopsPerToken(m, AttentionCount::kFull);
    const double again = real(recomputedBlocks) / real(m.layers);
    // Scores are half of attention's forward.
    return palmFlopsPerToken(m) + again * forward.blocks() + forward.attention / 2;
}

}  // namespace shardscope::theory
