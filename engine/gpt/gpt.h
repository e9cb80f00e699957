// The GPT: pre-norm blocks, learned positions, no linear bias, LayerNorm with bias, exact GELU,
// causal attention, head tied to the token embedding. Knows nothing of ranks.
//
// Shapes: B rows, T context, N = B·T tokens, C hidden, H heads, D = C/H, V vocabulary, L layers.
// Parameters come in units that are gathered and released together: the root (embeddings,
// final norm) and one a block. A method may be called while the unit it needs is gathered
// (Parameter::value defined), a backward one while its gradients are bound too.
// Lives on the step thread.
#pragma once

#include "engine/control/run_config.h"
#include "engine/kernels/parameter.h"
#include "storage/model/ids.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace shardscope::gpt {

struct Unit {
    LayerIndex layer = kRootLayer;
    std::vector<kernels::Parameter> parameters;  ///< matrices first, then vectors
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

    /// Final norm, tied linear layer and cross entropy, forward and backward at once. Adds the
    /// cross entropy of all N tokens in nats to `loss`, () float64 on x's device. Returns the
    /// gradient (N, C) of scale times that; undefined without `gradient`.
    [[nodiscard]] at::Tensor head(const at::Tensor& x, const at::Tensor& targets, double scale,
                                  bool gradient, const at::Tensor& loss);

    /// Adds the gradients of both embeddings to the root's, after head(). dx (N, C).
    void embedBackward(const at::Tensor& tokens, const at::Tensor& dx);

private:
    [[nodiscard]] kernels::Parameter& parameter(std::int64_t unit, int slot);

    control::ModelConfig m_config;
    std::vector<Unit> m_units;
};

/// Initial value of a parameter, the same whatever the number of ranks (GPT-2's scheme:
/// normal(0, 0.02), residual projections divided by sqrt(2L), norms one and zero).
[[nodiscard]] at::Tensor initialValue(const kernels::Parameter& parameter,
                                      const control::ModelConfig& config, std::uint64_t seed);

}  // namespace shardscope::gpt
