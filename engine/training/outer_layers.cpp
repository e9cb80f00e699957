#include "engine/training/outer_layers.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <tuple>

namespace shardscope::training {
namespace {

constexpr std::size_t kRoot = 0;
using parallel::After;
using parallel::Contribution;

}  // namespace

/// Units come in the order of their use up to the last block.
void OuterLayers::fetchAhead(std::size_t unit) {
    const std::size_t blocks =
        m_model.firstBlock() + static_cast<std::size_t>(m_model.config().layers);
    const std::size_t end = std::min(blocks, unit + 1 + static_cast<std::size_t>(m_prefetch));
    for (std::size_t next = unit + 1; next < end; ++next)
        m_partitioning.fetch(next, Cause::kPrefetch);
}

at::Tensor OuterLayers::embed(const at::Tensor& tokens, After use) {
    const auto& units = m_model.tokenUnits();
    m_partitioning.fetch(kRoot, Cause::kDemand);
    at::Tensor x;
    for (std::size_t piece = 0; piece < units.size(); ++piece) {
        m_partitioning.fetch(units[piece], Cause::kDemand);
        fetchAhead(units[piece]);
        if (piece == 0) m_partitioning.wait(kRoot);
        m_partitioning.wait(units[piece]);
        {
            const auto scope = m_phase(Phase::kForward);
            const control::MemoryScope memory(MemoryCategory::kActivation);
            if (piece == 0) {
                x = m_model.embed(tokens);
            } else {
                m_model.embed(tokens, piece, x);
            }
        }
        m_partitioning.release(units[piece], use);
        if (piece == 0 && units[0] != kRoot) m_partitioning.release(kRoot, use);
    }
    const control::MemoryScope memory(MemoryCategory::kActivation);
    return m_model.joined(x);
}

void OuterLayers::prefetchHead() {
    m_partitioning.fetch(kRoot, Cause::kPrefetch);
    m_partitioning.fetch(m_model.headUnits().front(), Cause::kPrefetch);
}

at::Tensor OuterLayers::wholeHead(const at::Tensor& x, const at::Tensor& targets, double scale,
                                  const at::Tensor& loss) {
    const std::size_t unit = m_model.headUnits().front();
    m_partitioning.fetch(unit, Cause::kDemand);
    m_partitioning.wait(kRoot);
    m_partitioning.wait(unit);
    m_partitioning.beginGradients(kRoot);
    if (unit != kRoot) m_partitioning.beginGradients(unit);
    at::Tensor dx;
    {
        const auto scope = m_phase(Phase::kHead);
        const control::MemoryScope memory(MemoryCategory::kTemporary);
        dx = m_model.head(x, targets, scale, true, loss);
    }
    if (unit != kRoot) {
        m_partitioning.release(unit, After::kBackward);
        m_partitioning.reduce(unit, Contribution::kLast);
    }
    m_partitioning.release(kRoot, After::kBackward);
    return dx;
}

/// One pass over the pieces; the last one stays when gradients follow.
gpt::Gpt::HeadPass OuterLayers::score(const at::Tensor& x, const at::Tensor& targets, double scale,
                                      const at::Tensor& loss, After use) {
    const auto& units = m_model.headUnits();
    m_partitioning.wait(kRoot);
    gpt::Gpt::HeadPass pass;
    for (std::size_t piece = 0; piece < units.size(); ++piece) {
        const bool last = piece + 1 == units.size();
        m_partitioning.fetch(units[piece], Cause::kDemand);
        if (!last) m_partitioning.fetch(units[piece + 1], Cause::kPrefetch);
        m_partitioning.wait(units[piece]);
        {
            const auto scope = m_phase(Phase::kHead);
            const control::MemoryScope memory(MemoryCategory::kTemporary);
            if (piece == 0) pass = m_model.beginHead(x, targets, scale);
            m_model.scoreHead(pass, piece);
            if (last) m_model.addLoss(pass, loss);
        }
        if (!last || use == After::kEvaluation) m_partitioning.release(units[piece], use);
    }
    return pass;
}

at::Tensor OuterLayers::head(const at::Tensor& x, const at::Tensor& targets, double scale,
                             const at::Tensor& loss) {
    if (!inPieces()) return wholeHead(x, targets, scale, loss);
    const auto& units = m_model.headUnits();
    gpt::Gpt::HeadPass pass = score(x, targets, scale, loss, After::kForward);
    m_partitioning.beginGradients(kRoot);
    const Contribution more =
        m_model.config().tieHead ? Contribution::kEarlier : Contribution::kLast;
    at::Tensor dx;
    for (std::size_t piece = units.size(); piece-- > 0;) {
        m_partitioning.fetch(units[piece], Cause::kDemand);
        if (piece > 0) m_partitioning.fetch(units[piece - 1], Cause::kPrefetch);
        m_partitioning.wait(units[piece]);
        m_partitioning.beginGradients(units[piece]);
        {
            const auto scope = m_phase(Phase::kHead);
            const control::MemoryScope memory(MemoryCategory::kTemporary);
            m_model.headBackward(pass, piece);
            if (piece == 0) dx = m_model.endHead(pass);
        }
        m_partitioning.release(units[piece], After::kBackward);
        m_partitioning.reduce(units[piece], more);
    }
    m_partitioning.release(kRoot, After::kBackward);
    return dx;
}

void OuterLayers::evaluate(const at::Tensor& x, const at::Tensor& targets, const at::Tensor& loss) {
    if (inPieces()) {
        score(x, targets, 1.0, loss, After::kEvaluation);
    } else {
        const std::size_t unit = m_model.headUnits().front();
        m_partitioning.fetch(unit, Cause::kDemand);
        m_partitioning.wait(kRoot);
        m_partitioning.wait(unit);
        std::ignore = m_model.head(x, targets, 1.0, false, loss);
        if (unit != kRoot) m_partitioning.release(unit, After::kEvaluation);
    }
    m_partitioning.release(kRoot, After::kEvaluation);
}

at::Tensor OuterLayers::logits(const at::Tensor& x) {
    const auto& units = m_model.headUnits();
    std::vector<at::Tensor> parts;
    m_partitioning.wait(kRoot);
    for (std::size_t piece = 0; piece < units.size(); ++piece) {
        m_partitioning.fetch(units[piece], Cause::kDemand);
        m_partitioning.wait(units[piece]);
        parts.push_back(m_model.logits(x, piece));
        if (units[piece] != kRoot) m_partitioning.release(units[piece], After::kEvaluation);
    }
    m_partitioning.release(kRoot, After::kEvaluation);
    return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
}

void OuterLayers::embedBackward(const at::Tensor& tokens, const at::Tensor& dx) {
    const auto& units = m_model.tokenUnits();
    const at::Tensor all = m_model.gathered(dx);
    for (std::size_t piece = 0; piece < units.size(); ++piece) {
        const bool apart = units[piece] != kRoot;
        if (apart) m_partitioning.beginGradients(units[piece]);
        {
            const auto scope = m_phase(Phase::kBackward);
            m_model.embedBackward(tokens, all, piece);
        }
        if (apart) m_partitioning.reduce(units[piece], Contribution::kLast);
    }
    m_model.joinGradients(kRoot);
    m_partitioning.reduce(kRoot, Contribution::kLast);
}

}  // namespace shardscope::training
