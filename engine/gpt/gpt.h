// The GPT: pre-norm blocks, causal attention, no linear bias; positions, norms, feed-forward part
// and head as the configuration says. Knows nothing of ranks.
//
// Shapes: B rows, T context, N = B·T tokens, C hidden, H heads, D = C/H, V vocabulary, L layers.
// Parameters come in units that are gathered and released together: the root (embeddings,
// final norm) and one a block; token table and head in pieces of their own where they are cut
// (run/config/model_tensors.h). A method may be called while the unit it needs is gathered
// (Parameter::value defined), a backward one while its gradients are bound too.
// Lives on the step thread.
#pragma once

#include "engine/kernels/feed_forward.h"
#include "engine/kernels/norm.h"
#include "engine/kernels/parameter.h"
#include "engine/kernels/tensor_group.h"
#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_config.h"
#include "storage/model/ids.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardscope::gpt {

struct Unit {
    LayerIndex layer = kRootLayer;               ///< pieces of the vocabulary count as the root
    std::vector<kernels::Parameter> parameters;  ///< as engine/run/config/model_tensors.h has them
};

class Gpt {
public:
    /// Cut into units as the run says. Of divided tensors it has this rank's part of `group`, which
    /// outlives it; null: all. Rows of activations below are then n of the group's N
    /// (tensor_group.h); tokens and targets are those of all N.
    explicit Gpt(const run::RunConfig& config, kernels::TensorGroup* group = nullptr);

    /// In the order of run::modelUnits(). Addresses are stable.
    [[nodiscard]] std::vector<Unit>& units() { return m_units; }
    [[nodiscard]] const run::ModelConfig& config() const { return m_config; }
    /// Index of the first block's unit; the others follow it.
    [[nodiscard]] std::size_t firstBlock() const { return m_firstBlock; }
    /// Units that hold the token table and the head, piece by piece; the root when they are whole.
    /// The same ones when the head is tied.
    [[nodiscard]] const std::vector<std::size_t>& tokenUnits() const { return m_tokenUnits; }
    [[nodiscard]] const std::vector<std::size_t>& headUnits() const { return m_headUnits; }

    /// tokens (B, T) int64 -> x (N, C). Needs the root and the first token unit; the other ones add
    /// to x.
    [[nodiscard]] at::Tensor embed(const at::Tensor& tokens) const;
    void embed(const at::Tensor& tokens, std::size_t piece, const at::Tensor& x) const;
    /// After the last piece: what the group's ranks have of x together, (n, C).
    [[nodiscard]] at::Tensor joined(const at::Tensor& x) const;

    /// x (N, C) -> (N, C); records an autograd graph when x requires grad. `rows` is B.
    [[nodiscard]] at::Tensor block(std::int64_t index, const at::Tensor& x, std::int64_t rows);

    /// Of the head in one piece: final norm, linear layer and cross entropy, forward and backward
    /// at once. Adds the cross entropy of all N tokens in nats to `loss`, () float64 on x's device.
    /// Returns the gradient (N, C) of scale times that; undefined without `gradient`.
    [[nodiscard]] at::Tensor head(const at::Tensor& x, const at::Tensor& targets, double scale,
                                  bool gradient, const at::Tensor& loss);

    /// The same in pieces: begin, score every piece, addLoss; then, in any order of pieces,
    /// backward, and end for the gradient below.
    struct HeadPass {
        at::Tensor targets;
        double scale = 1;
        kernels::NormState norm;
        at::Tensor rows;        ///< (N, C), what the norm gave
        at::Tensor statistics;  ///< (N, 3), of the softmax
        at::Tensor gradient;    ///< (N, C), above the norm; undefined before backward
    };
    [[nodiscard]] HeadPass beginHead(const at::Tensor& x, const at::Tensor& targets,
                                     double scale) const;
    void scoreHead(HeadPass& pass, std::size_t piece) const;
    /// After the last piece; joins a group's statistics.
    void addLoss(const HeadPass& pass, const at::Tensor& loss) const;
    void headBackward(HeadPass& pass, std::size_t piece);
    [[nodiscard]] at::Tensor endHead(HeadPass& pass);

    /// Logits of the next token after each row: x (n, C) -> (n, V') in fp32, of one piece of the
    /// head. No graph. Needs the root too.
    [[nodiscard]] at::Tensor logits(const at::Tensor& x, std::size_t piece) const;

    /// Adds the gradients of a piece of the token table, after all of the head; with the first
    /// piece those of positions. dx (N, C).
    void embedBackward(const at::Tensor& tokens, const at::Tensor& dx, std::size_t piece);
    /// x (n, C) -> (N, C)
    [[nodiscard]] at::Tensor gathered(const at::Tensor& x) const;

    /// Sums over a group that divides rows what each rank has of the gradients of the unit's
    /// vectors; nothing unless joinsGradients(true) was said: they may still be added to.
    void joinGradients(std::size_t unit);
    void joinsGradients(bool joins) { m_joins = joins; }

    Gpt(const Gpt&) = delete;
    Gpt& operator=(const Gpt&) = delete;

private:
    /// What a unit's parameters are for; they point into m_units.
    struct Root {
        std::vector<kernels::Parameter*> tokens;  ///< piece by piece
        kernels::Parameter* positions = nullptr;  ///< null with rotary positions
        std::vector<kernels::Parameter*> head;    ///< `tokens` when tied
        kernels::Norm norm;
    };
    struct Block {
        kernels::Parameter* qkv = nullptr;
        kernels::Parameter* projection = nullptr;
        kernels::FeedForward feedForward;
        kernels::Norm norm1, norm2;
    };

    void findPieces(std::string_view name, std::vector<kernels::Parameter*>& parameters,
                    std::vector<std::size_t>& units);

    run::ModelConfig m_config;
    kernels::TensorGroup* const m_group;
    bool m_joins = true;
    std::vector<Unit> m_units;
    std::size_t m_firstBlock = 1;
    std::vector<std::size_t> m_tokenUnits, m_headUnits;
    Root m_root;
    std::vector<Block> m_blocks;
    at::Tensor m_rotary;  ///< undefined with learned positions
};

/// Initial value of the whole tensor of that name, the same whatever the number of ranks (GPT-2's
/// scheme: normal(0, 0.02), residual projections divided by sqrt(2L), norms' weights one, biases
/// zero).
[[nodiscard]] at::Tensor initialValue(const kernels::Parameter& parameter,
                                      const run::ModelConfig& config, std::uint64_t seed);

}  // namespace shardscope::gpt
