#include "engine/gpt/gpt.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/embedding.h"
#include "engine/kernels/heads.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace shardscope::gpt {
namespace {

Unit unitOf(const run::ModelUnit& from) {
    Unit unit;
    if (from.part == run::ModelUnit::Part::kBlock)
        unit.layer = LayerIndex{static_cast<std::int16_t>(from.index)};
    for (const run::ModelTensor& tensor : from.tensors) {
        kernels::Parameter parameter;
        parameter.name = tensor.name;
        parameter.shape = tensor.shape;
        parameter.group = tensor.group;
        parameter.firstRow = tensor.firstRow;
        parameter.wholeRows = tensor.wholeRows;
        parameter.rowGroups = tensor.rowGroups;
        parameter.firstColumn = tensor.firstColumn;
        parameter.wholeColumns = tensor.wholeColumns;
        parameter.divided = tensor.division != run::Division::kNone;
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

/// FNV-1a: ties a parameter's random stream to its name, not to the order of creation.
std::uint64_t hash(std::string_view text) {
    std::uint64_t value = 14695981039346656037ULL;
    for (char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return value;
}

}  // namespace

Gpt::Gpt(const run::RunConfig& config, kernels::TensorGroup* group)
    : m_config(config.model), m_group(group) {
    const run::TensorPart part =
        group == nullptr ? run::TensorPart{} : run::TensorPart{group->rank(), group->size()};
    for (const run::ModelUnit& unit : run::modelUnits(config, part))
        m_units.push_back(unitOf(unit));
    const auto isBlock = [](const Unit& unit) { return unit.layer != kRootLayer; };
    m_firstBlock = static_cast<std::size_t>(std::find_if(m_units.begin(), m_units.end(), isBlock) -
                                            m_units.begin());
    Unit& root = m_units.front();
    m_root.positions = find(root, "wpe.weight");
    m_root.norm = findNorm(root, "ln_f");
    findPieces("wte.weight", m_root.tokens, m_tokenUnits);
    findPieces(m_config.tieHead ? "wte.weight" : "head.weight", m_root.head, m_headUnits);
    for (Unit& unit : m_units) {
        if (!isBlock(unit)) continue;
        m_blocks.push_back(
            {find(unit, "qkv.weight"),
             find(unit, "proj.weight"),
             {find(unit, "gate.weight"), find(unit, "fc.weight"), find(unit, "out.weight")},
             findNorm(unit, "ln1"),
             findNorm(unit, "ln2")});
    }
    if (m_config.position == run::Position::kRope) {
        m_rotary = kernels::rotaryTable(m_config.context, m_config.hidden / m_config.heads);
    }
}

void Gpt::findPieces(std::string_view name, std::vector<kernels::Parameter*>& parameters,
                     std::vector<std::size_t>& units) {
    for (std::size_t i = 0; i < m_units.size(); ++i) {
        kernels::Parameter* const found = find(m_units[i], name);
        if (found == nullptr) continue;
        parameters.push_back(found);
        units.push_back(i);
    }
}

at::Tensor Gpt::embed(const at::Tensor& tokens) const {
    const kernels::OperatorScope scope("embedding");
    const at::Tensor& table = m_root.tokens[0]->value;
    kernels::note(control::TensorRole::kParameter, table, "embedding");
    // Of a group's partial sums one has the positions.
    const bool first = m_group == nullptr || m_group->rank() == 0;
    const at::Tensor positions =
        m_root.positions == nullptr || !first ? at::Tensor() : m_root.positions->value;
    at::Tensor x;
    if (m_group == nullptr && m_root.tokens.size() == 1) {
        x = kernels::embed(table, positions, tokens);
    } else {
        x = kernels::positionsOf(positions, tokens, m_config.hidden, table.options());
        kernels::addRows(table, m_root.tokens[0]->firstRow, tokens, x);
    }
    kernels::note(control::TensorRole::kActivation, x, "embedding");
    return x;
}

void Gpt::embed(const at::Tensor& tokens, std::size_t piece, const at::Tensor& x) const {
    const kernels::OperatorScope scope("embedding");
    const kernels::Parameter& table = *m_root.tokens[piece];
    kernels::addRows(table.value, table.firstRow, tokens, x);
}

at::Tensor Gpt::joined(const at::Tensor& x) const {
    if (m_group == nullptr) return x;
    const at::Tensor partial = m_group->partial(x.size(0), x.size(1), x.options());
    partial.copy_(x);
    const at::Tensor sum = m_group->sum(partial);
    return m_group->sequence() ? sum : sum.clone();  // it is kept for backward
}

at::Tensor Gpt::gathered(const at::Tensor& x) const {
    return m_group == nullptr ? x : m_group->gather(x.contiguous());
}

void Gpt::embedBackward(const at::Tensor& tokens, const at::Tensor& dx, std::size_t piece) {
    const kernels::OperatorScope scope("embedding_backward");
    at::Tensor positions;
    if (piece == 0 && m_root.positions != nullptr) {
        positions = m_root.positions->gradient;
        if (!m_root.positions->accumulate) positions.zero_();
    }
    const kernels::Parameter& table = *m_root.tokens[piece];
    // In the root a tied table's gradient is there already: the head's.
    const bool begun = m_config.tieHead && m_tokenUnits.front() == 0;
    if (!begun && !table.accumulate) table.gradient.zero_();
    kernels::addGradients(tokens, table.firstRow, dx, table.gradient, positions);
    kernels::note(control::TensorRole::kGradient, table.gradient, "embedding");
}

void Gpt::joinGradients(std::size_t unit) {
    if (m_group == nullptr || !m_group->sequence() || !m_joins) return;
    std::vector<at::Tensor> gradients;
    for (const kernels::Parameter& parameter : m_units[unit].parameters)
        if (parameter.group == run::ParameterGroup::kVector)
            gradients.push_back(parameter.gradient);
    if (!gradients.empty()) m_group->sumInPlace(gradients);
}

at::Tensor Gpt::block(std::int64_t index, const at::Tensor& x, std::int64_t rows) {
    const Block& block = m_blocks[static_cast<std::size_t>(index)];
    if (m_rotary.defined() && m_rotary.device() != x.device()) m_rotary = m_rotary.to(x.device());
    const kernels::Normed first = kernels::normalise(x, block.norm1);
    const std::int64_t heads = m_config.heads / (m_group == nullptr ? 1 : m_group->size());
    const at::Tensor mixed = kernels::causalAttention(
        kernels::linearByOutputs(first.value, *block.qkv, m_group), rows, heads, m_rotary);
    const kernels::Normed second = kernels::addAndNormalise(
        first.stream, kernels::linearByInputs(mixed, *block.projection, m_group), block.norm2);
    const at::Tensor y =
        kernels::feedForward(second.stream, second.value, block.feedForward, second.copy, m_group);
    kernels::note(control::TensorRole::kActivation, y, "block output");
    return y;
}

at::Tensor Gpt::head(const at::Tensor& x, const at::Tensor& targets, double scale, bool gradient,
                     const at::Tensor& loss) {
    const kernels::NormState state = kernels::normForward(x, {}, m_root.norm);
    at::Tensor dNormed;
    if (m_group == nullptr) {
        if (gradient) dNormed = at::empty_like(state.value);
        kernels::linearCrossEntropy(state.value, *m_root.head[0], targets, scale, dNormed, loss);
    } else {
        const at::Tensor rows = m_group->gather(state.value);
        if (gradient) dNormed = m_group->partial(rows.size(0), rows.size(1), rows.options());
        kernels::dividedCrossEntropy(rows, *m_root.head[0], targets, scale, dNormed, loss,
                                     *m_group);
        if (gradient) dNormed = m_group->sum(dNormed);
    }
    if (!gradient) return {};
    const at::Tensor dx = kernels::normBackward(dNormed, {}, state, m_root.norm);
    kernels::note(control::TensorRole::kActivationGradient, dx, "below the head");
    return dx;
}

Gpt::HeadPass Gpt::beginHead(const at::Tensor& x, const at::Tensor& targets, double scale) const {
    HeadPass pass;
    pass.targets = targets;
    pass.scale = scale;
    pass.norm = kernels::normForward(x, {}, m_root.norm);
    pass.rows = gathered(pass.norm.value);
    pass.statistics = kernels::emptyStatistics(pass.rows);
    return pass;
}

void Gpt::scoreHead(HeadPass& pass, std::size_t piece) const {
    kernels::addPieceStatistics(pass.rows, *m_root.head[piece], pass.targets, pass.statistics);
}

void Gpt::addLoss(const HeadPass& pass, const at::Tensor& loss) const {
    if (m_group != nullptr) kernels::joinStatistics(pass.statistics, *m_group);
    if (m_group == nullptr || m_group->rank() == 0) kernels::addLoss(pass.statistics, loss);
}

void Gpt::headBackward(HeadPass& pass, std::size_t piece) {
    const bool first = !pass.gradient.defined();
    if (first && m_group == nullptr) pass.gradient = at::empty_like(pass.rows);
    if (first && m_group != nullptr)
        pass.gradient = m_group->partial(pass.rows.size(0), pass.rows.size(1), pass.rows.options());
    kernels::addPieceGradients(pass.rows, *m_root.head[piece], pass.targets, pass.statistics,
                               pass.scale, pass.gradient, first);
}

at::Tensor Gpt::endHead(HeadPass& pass) {
    if (m_group != nullptr) pass.gradient = m_group->sum(pass.gradient);
    const at::Tensor dx = kernels::normBackward(pass.gradient, {}, pass.norm, m_root.norm);
    kernels::note(control::TensorRole::kActivationGradient, dx, "below the head");
    pass = {};
    return dx;
}

at::Tensor Gpt::logits(const at::Tensor& x, std::size_t piece) const {
    const kernels::NormState state = kernels::normForward(x, {}, m_root.norm);
    const at::Tensor& weight = m_root.head[piece]->value;
    const at::Tensor logits = at::empty({x.size(0), weight.size(0)}, x.options());
    kernels::matmul(state.value, weight.t(), logits);
    return logits.to(at::kFloat);
}

at::Tensor initialValue(const kernels::Parameter& parameter, const run::ModelConfig& config,
                        std::uint64_t seed) {
    const std::string_view name = parameter.name;
    if (!parameter.decays()) {
        return name.ends_with("weight") ? at::ones(parameter.shape) : at::zeros(parameter.shape);
    }
    double deviation = 0.02;
    if (name.ends_with("proj.weight") || name.ends_with("out.weight")) {
        deviation /= std::sqrt(2.0 * static_cast<double>(config.layers));
    }
    at::Tensor value = at::empty(parameter.wholeShape());
    value.normal_(0.0, deviation, at::detail::createCPUGenerator(seed ^ hash(name)));
    return value;
}

}  // namespace shardscope::gpt
