// Parameters and FLOPs of a model with any options. Pure functions, torch-free.
//
// Symbols: N parameters, L layers, C hidden, T context, V vocabulary, F inner width. FLOPs count a
// multiply and an add as two, of one token, forward and backward, backward being twice the forward.
#pragma once

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_config.h"
#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::theory {

/// Of the table in engine/run/config/model_tensors.h. By default V·C + T·C + L(12C² + 4C) + 2C.
[[nodiscard]] std::int64_t parameterCount(const run::ModelConfig& model);
/// 12C² + 4C by default
[[nodiscard]] std::int64_t blockParameterCount(const run::ModelConfig& model);
/// V·C + T·C + 2C by default
[[nodiscard]] std::int64_t rootParameterCount(const run::ModelConfig& model);
/// Tensors of all units.
[[nodiscard]] std::int64_t parameterTensorCount(const run::ModelConfig& model);

/// How much of the (T, T) scores of causal attention counts: all of it, or what a perfect causal
/// kernel computes, (T + 1) / 2 keys a query.
enum class AttentionCount : std::uint8_t { kFull, kCausal };

/// Matrix products only: 2 FLOPs a weight, and 4·C a key for scores and mixture.
struct FlopsByPart {
    double qkv = 0;
    double attention = 0;
    double projection = 0;
    double feedForward = 0;
    double head = 0;
    [[nodiscard]] double blocks() const { return qkv + attention + projection + feedForward; }
    [[nodiscard]] double total() const { return blocks() + head; }
};
/// Forward, one token; backward is twice that, each part.
[[nodiscard]] FlopsByPart forwardFlopsPerToken(const run::ModelConfig& model,
                                               AttentionCount attention);

/// The ways in which others count, each with its own N (performance reference 1.1).
enum class FlopsVariant : std::uint8_t {
    kSixN,
    kPalm,
    kNanoGpt,  ///< estimate_mfu
    kFoundry,  ///< benchmarking README
    kTitan,    ///< those of a tied head multiply
    kLlmc,     ///< gpt2_estimate_mfu
    kMegatron2021,
    kMegatronNow,
    kExact,
};
struct FlopsVariantWords {
    FlopsVariant value;
    const char* word;
    const char* name;  ///< what people call it
    const char* definition;
    const char* source;
};
constexpr auto wordsOf(FlopsVariant) {
    return wordList<FlopsVariantWords>(
        {{FlopsVariant::kSixN, "6N", "6N", "6 a parameter", "Kaplan et al., arXiv 2001.08361"},
         {FlopsVariant::kPalm, "palm", "PaLM", "6N + 12 L C T: attention in full",
          "Chowdhery et al., arXiv 2204.02311, appendix B"},
         {FlopsVariant::kNanoGpt, "nanogpt", "nanoGPT", "palm without the position table",
          "nanoGPT"},
         {FlopsVariant::kFoundry, "foundry", "LLM Foundry", "as palm", "llm-foundry"},
         {FlopsVariant::kTitan, "titan", "TorchTitan", "palm without tables that multiply nothing",
          "torchtitan"},
         {FlopsVariant::kLlmc, "llmc", "llm.c", "6N + 6 L C T: half of attention", "llm.c"},
         {FlopsVariant::kMegatron2021, "meg21", "Megatron-LM 2021",
          "weights of products, attention in full",
          "Narayanan et al., arXiv 2104.04473, section 5.1"},
         {FlopsVariant::kMegatronNow, "megnow", "Megatron-LM",
          "weights of products, half of attention, V padded to 128", "Megatron-LM"},
         {FlopsVariant::kExact, "exact", "exact", "products, and causal attention to the key",
          "this engine"}});
}
[[nodiscard]] double flopsPerToken(const run::ModelConfig& model, FlopsVariant variant);
/// flopsPerToken(model, kPalm)
[[nodiscard]] double palmFlopsPerToken(const run::ModelConfig& model);

/// What is really executed, for HFU: palm's count, the forward of `recomputedBlocks` blocks once
/// more, and QKᵀ once more in the backward of every attention that keeps no scores (FlashAttention;
/// attention costs 14/12 then). palm's own full recompute, 8N + 16·L·C·T, recomputes the head and
/// the parameters that multiply nothing as well: 4/3 of palm.
[[nodiscard]] double executedFlopsPerToken(const run::ModelConfig& model,
                                           std::int64_t recomputedBlocks);

}  // namespace shardscope::theory
