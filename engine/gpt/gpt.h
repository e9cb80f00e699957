// The GPT: pre-norm blocks, causal attention, no linear bias; positions, norms, feed-forward part
// and head as the configuration says. Knows nothing of ranks.
//
// Shapes: B rows, T context, N = B·T tokens, C hidden, H heads, D = C/H, V vocabulary, L layers.
// Parameters come in units that are gathered and released together: the root (embeddings,
// final norm) and one a block. A method may be called while the unit it needs is gathered
// (Parameter::value defined), a backward one while its gradients are bound too.
// Lives on the step thread.
#pragma once

#include "engine/control/run_config.h"
#include "engine/kernels/feed_forward.h"
#include "engine/kernels/norm.h"
#include "engine/kernels/parameter.h"
#include "storage/model/ids.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace shardscope::gpt {

struct Unit {
    LayerIndex layer = kRootLayer;
    std::vector<kernels::Parameter> parameters;  ///< as engine/control/model_tensors.h has them
};

class Gpt {
public:
    explicit Gpt(const control::ModelConfig& config);

    /// Unit 0 is the root, unit 1 + i block i. Addresses are stable.
    [[nodiscard]] std::vector<Unit>& units() { return m_units; }
    [[nodiscard]] const control::ModelConfig& config() const { return m_config; }

    /// tokens (B, T) int64 -> (N, C)
    [[nodiscard]] at::Tensor embed(const at::Tensor& tokens) const;

    /// x (N, C) -> (N, C); records an autograd graph when x requires grad. `rows` is B.
    [[nodiscard]] at::Tensor block(std::int64_t index, const at::Tensor& x, std::int64_t rows);

    /// Final norm, linear layer and cross entropy, forward and backward at once. Adds the
    /// cross entropy of all N tokens in nats to `loss`, () float64 on x's device. Returns the
    /// gradient (N, C) of scale times that; undefined without `gradient`.
    [[nodiscard]] at::Tensor head(const at::Tensor& x, const at::Tensor& targets, double scale,
                                  bool gradient, const at::Tensor& loss);

    /// Of the next token after each row: x (n, C) -> (n, V) in fp32. No graph.
    [[nodiscard]] at::Tensor logits(const at::Tensor& x) const;

    /// Adds the gradients of both embeddings to the root's, after head(). dx (N, C).
    void embedBackward(const at::Tensor& tokens, const at::Tensor& dx);

    Gpt(const Gpt&) = delete;
    Gpt& operator=(const Gpt&) = delete;

private:
    /// What a unit's parameters are for; they point into m_units.
    struct Root {
        kernels::Parameter* tokens = nullptr;
        kernels::Parameter* positions = nullptr;  ///< null with rotary positions
        kernels::Parameter* head = nullptr;       ///< `tokens` when tied
        kernels::Norm norm;
    };
    struct Block {
        kernels::Parameter* qkv = nullptr;
        kernels::Parameter* projection = nullptr;
        kernels::FeedForward feedForward;
        kernels::Norm norm1, norm2;
    };

    control::ModelConfig m_config;
    std::vector<Unit> m_units;
    Root m_root;
    std::vector<Block> m_blocks;
    at::Tensor m_rotary;  ///< undefined with learned positions
};

/// Initial value of a parameter, the same whatever the number of ranks (GPT-2's scheme:
/// normal(0, 0.02), residual projections divided by sqrt(2L), norms' weights one, biases zero).
[[nodiscard]] at::Tensor initialValue(const kernels::Parameter& parameter,
                                      const control::ModelConfig& config, std::uint64_t seed);

}  // namespace shardscope::gpt
