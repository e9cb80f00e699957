// Parameters and FLOPs of a model with any options. Pure functions, torch-free.
//
// Symbols: N parameters, L layers, C hidden, T context, V vocabulary, F inner width. FLOPs count a
// multiply and an add as two, of one token, forward and backward, backward being twice the forward.
#pragma once

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_config.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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
    kSixN,          ///< 6N (Kaplan et al., arXiv 2001.08361, section 2.1)
    kPalm,          ///< 6N + 12·L·C·T (PaLM, arXiv 2204.02311, appendix B)
    kNanoGpt,       ///< palm without the position table (nanoGPT, estimate_mfu)
    kFoundry,       ///< equals palm (llm-foundry, benchmarking README)
    kTitan,         ///< palm without embedding tables, unless the head is tied to one (torchtitan)
    kLlmc,          ///< 6N + 6·L·C·T: half of attention (llm.c, gpt2_estimate_mfu)
    kMegatron2021,  ///< weights of matrix products only, full attention (arXiv 2104.04473, 5.1)
    kMegatronNow,   ///< the same with half of attention and V padded to a multiple of 128
    kExact,         ///< matrix products and causal attention to the key
};
constexpr auto wordsOf(FlopsVariant) {
    return wordList<Word<FlopsVariant>>({{FlopsVariant::kSixN, "6N"},
                                         {FlopsVariant::kPalm, "palm"},
                                         {FlopsVariant::kNanoGpt, "nanogpt"},
                                         {FlopsVariant::kFoundry, "foundry"},
                                         {FlopsVariant::kTitan, "titan"},
                                         {FlopsVariant::kLlmc, "llmc"},
                                         {FlopsVariant::kMegatron2021, "meg21"},
                                         {FlopsVariant::kMegatronNow, "megnow"},
                                         {FlopsVariant::kExact, "exact"}});
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
