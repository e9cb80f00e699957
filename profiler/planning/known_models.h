// Models that others have published, by their shapes: to plan for, not to train, since the engine
// has neither biases in products nor grouped queries. Pure functions.
//
// Sources: GPT-2 (Radford et al. 2019, and the checkpoints' config.json: products have biases, the
// head is the token table); GPT-3 (Brown et al., arXiv 2005.14165, table 2.1); LLaMA (Touvron et
// al., arXiv 2302.13971, table 2) and LLaMA 2 (arXiv 2307.09288, table 1 and the checkpoint's
// params.json for 70B's 8 heads of keys and values).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace shardscope::planning {

struct KnownModel {
    std::string_view name;
    std::int64_t vocabulary = 0, context = 0, layers = 0, hidden = 0, heads = 0;
    std::int64_t keyValueHeads = 0;  ///< as many as heads, or fewer: grouped queries
    std::int64_t innerWidth = 0;     ///< of the feed-forward part
    bool gated = false;              ///< SwiGLU: three matrices instead of two
    bool biases = false;             ///< in products and norms
    bool positions = false;          ///< a table of them
    bool tiedHead = false;
};

[[nodiscard]] std::span<const KnownModel> knownModels();
/// Null: nobody knows it.
[[nodiscard]] const KnownModel* findKnownModel(std::string_view name);

/// Embeddings, blocks, last norm, and the head where it has a matrix of its own.
[[nodiscard]] std::int64_t parameterCount(const KnownModel& model);

}  // namespace shardscope::planning
