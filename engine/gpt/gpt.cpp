#include "engine/gpt/gpt.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/embedding.h"
#include "engine/kernels/feed_forward.h"
#include "engine/kernels/heads.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/note_tensor.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

namespace shardscope::gpt {
namespace {

Unit unitOf(LayerIndex layer, const std::vector<control::ModelTensor>& tensors) {
    Unit unit;
    unit.layer = layer;
    for (const control::ModelTensor& tensor : tensors) {
        kernels::Parameter parameter;
        parameter.name = tensor.name;
        parameter.shape = tensor.shape;
        parameter.group = tensor.group;
        unit.parameters.push_back(std::move(parameter));
    }
    return unit;
}

/// The one whose name ends like that; null when the model has none.
kernels::Parameter* find(Unit& unit, std::string_view ending) {
    const auto found = std::find_if(
        unit.parameters.begin(), unit.parameters.end(),
        [&](const kernels::Parameter& parameter) { return parameter.name.ends_with(ending); });
    return found == unit.parameters.end() ? nullptr : &*found;
}

kernels::Norm findNorm(Unit& unit, const std::string& name) {
    return {find(unit, name + ".weight"), find(unit, name + ".bias")};
}

}  // namespace

Gpt::Gpt(const control::ModelConfig& config) : m_config(config) {
    m_units.push_back(unitOf(kRootLayer, control::rootTensors(config)));
    for (std::int64_t i = 0; i < config.layers; ++i) {
        m_units.push_back(
            unitOf(LayerIndex{static_cast<std::int16_t>(i)}, control::blockTensors(config, i)));
    }
    Unit& root = m_units.front();
    m_root = {find(root, "wte.weight"), find(root, "wpe.weight"), find(root, "head.weight"),
              findNorm(root, "ln_f")};
    if (m_root.head == nullptr) m_root.head = m_root.tokens;
    for (std::size_t i = 1; i < m_units.size(); ++i) {
        Unit& unit = m_units[i];
        m_blocks.push_back(
            {find(unit, "qkv.weight"),
             find(unit, "proj.weight"),
             {find(unit, "gate.weight"), find(unit, "fc.weight"), find(unit, "out.weight")},
             findNorm(unit, "ln1"),
             findNorm(unit, "ln2")});
    }
    if (config.position == control::Position::kRope) {
        m_rotary = kernels::rotaryTable(config.context, config.hidden / config.heads);
    }
}

at::Tensor Gpt::embed(const at::Tensor& tokens) const {
    const kernels::OperatorScope scope("embedding");
    kernels::note(control::TensorRole::kParameter, m_root.tokens->value, "embedding");
    const at::Tensor positions =
        m_root.positions == nullptr ? at::Tensor() : m_root.positions->value;
    const at::Tensor x = kernels::embed(m_root.tokens->value, positions, tokens);
    kernels::note(control::TensorRole::kActivation, x, "embedding");
    return x;
}

void Gpt::embedBackward(const at::Tensor& tokens, const at::Tensor& dx) {
    const kernels::OperatorScope scope("embedding_backward");
    at::Tensor positions;
    if (m_root.positions != nullptr) {
        positions = m_root.positions->gradient;
        if (!m_root.positions->accumulate) positions.zero_();
    }
    // A tied table's gradient is there already: the head's.
    const bool tied = m_root.head == m_root.tokens;
    if (!tied && !m_root.tokens->accumulate) m_root.tokens->gradient.zero_();
    kernels::addEmbeddingGradients(tokens, dx, m_root.tokens->gradient, positions);
    kernels::note(control::TensorRole::kGradient, m_root.tokens->gradient, "embedding");
}

at::Tensor Gpt::block(std::int64_t index, const at::Tensor& x, std::int64_t rows) {
    const Block& block = m_blocks[static_cast<std::size_t>(index)];
    if (m_rotary.defined() && m_rotary.device() != x.device()) m_rotary = m_rotary.to(x.device());
    const auto [stream, normed] = kernels::normalise(x, block.norm1);
    const at::Tensor mixed = kernels::causalAttention(kernels::linear(normed, *block.qkv), rows,
                                                      m_config.heads, m_rotary);
    const auto [between, again] =
        kernels::addAndNormalise(stream, kernels::linear(mixed, *block.projection), block.norm2);
    const at::Tensor y = kernels::feedForward(between, again, block.feedForward);
    kernels::note(control::TensorRole::kActivation, y, "block output");
    return y;
}

at::Tensor Gpt::head(const at::Tensor& x, const at::Tensor& targets, double scale, bool gradient,
                     const at::Tensor& loss) {
    const kernels::NormState state = kernels::normForward(x, {}, m_root.norm);
    at::Tensor dNormed;
    if (gradient) dNormed = at::empty_like(state.value);
    kernels::linearCrossEntropy(state.value, *m_root.head, targets, scale, dNormed, loss);
    if (!gradient) return {};
    const at::Tensor dx = kernels::normBackward(dNormed, {}, state, m_root.norm);
    kernels::note(control::TensorRole::kActivationGradient, dx, "below the head");
    return dx;
}

at::Tensor Gpt::logits(const at::Tensor& x) const {
    const kernels::NormState state = kernels::normForward(x, {}, m_root.norm);
    const at::Tensor logits = at::empty({x.size(0), m_config.vocabulary}, x.options());
    kernels::matmul(state.value, m_root.head->value.t(), logits);
    return logits.to(at::kFloat);
}

}  // namespace shardscope::gpt
