// Embedding and head: what comes before the blocks and after them, unit by unit.
//
// Where token table and head are whole they are in the root, or one unit, and the head runs forward
// and backward at once. In pieces, each is gathered for itself: the embedding takes one pass over
// them, the head one for the softmax and, with gradients, a second one backwards, whose first piece
// is still there. Lives on the step thread; the methods throw.
#pragma once

#include "engine/control/observer.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"

#include <functional>

namespace shardscope::training {

class OuterLayers {
public:
    /// Opens a phase of the root; called on the step thread only.
    using OpenPhase = std::function<control::PhaseScope(Phase)>;

    /// `prefetch`: units gathered ahead. The references outlive this.
    OuterLayers(gpt::Gpt& model, parallel::Partitioning& partitioning, std::int32_t prefetch,
                OpenPhase phase)
        : m_model(model),
          m_partitioning(partitioning),
          m_prefetch(prefetch),
          m_phase(std::move(phase)) {}

    /// tokens (B, T) -> x (N, C); the units are released as they are after `use`.
    [[nodiscard]] at::Tensor embed(const at::Tensor& tokens, parallel::After use);

    /// Starts gathering what head() begins with.
    void prefetchHead();

    /// Adds the cross entropy of all N tokens to `loss`; returns the gradient (N, C) of scale times
    /// that. Blocks' gradients and those of the root and of the token table are still to come.
    [[nodiscard]] at::Tensor head(const at::Tensor& x, const at::Tensor& targets, double scale,
                                  const at::Tensor& loss);
    /// The loss only.
    void evaluate(const at::Tensor& x, const at::Tensor& targets, const at::Tensor& loss);
    /// x (n, C) -> (n, V) fp32.
    [[nodiscard]] at::Tensor logits(const at::Tensor& x);

    /// The last gradients of a micro-step; reduces the token table's and the root's.
    void embedBackward(const at::Tensor& tokens, const at::Tensor& dx);

private:
    [[nodiscard]] bool inPieces() const { return m_model.headUnits().size() > 1; }
    [[nodiscard]] at::Tensor wholeHead(const at::Tensor& x, const at::Tensor& targets, double scale,
                                       const at::Tensor& loss);
    gpt::Gpt::HeadPass score(const at::Tensor& x, const at::Tensor& targets, double scale,
                             const at::Tensor& loss, parallel::After use);
    void fetchAhead(std::size_t unit);

    gpt::Gpt& m_model;
    parallel::Partitioning& m_partitioning;
    const std::int32_t m_prefetch;
    const OpenPhase m_phase;
};

}  // namespace shardscope::training
