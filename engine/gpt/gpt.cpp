#include "engine/gpt/gpt.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/embedding.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <fmt/format.h>

namespace shardscope::gpt {
namespace {

enum RootSlot { kTokens, kPositions, kFinalWeight, kFinalBias };
enum BlockSlot { kQkv, kProjection, kFc, kOut, kNorm1Weight, kNorm1Bias, kNorm2Weight, kNorm2Bias };

kernels::Parameter named(std::string name, std::vector<std::int64_t> shape) {
    kernels::Parameter parameter;
    parameter.name = std::move(name);
    parameter.shape = std::move(shape);
    return parameter;
}

Unit rootUnit(const control::ModelConfig& c) {
    Unit unit;
    unit.layer = kRootLayer;
    unit.parameters = {named("wte.weight", {c.vocabulary, c.hidden}),
                       named("wpe.weight", {c.context, c.hidden}), named("ln_f.weight", {c.hidden}),
                       named("ln_f.bias", {c.hidden})};
    return unit;
}

Unit blockUnit(const control::ModelConfig& c, std::int64_t index) {
    const auto name = [&](const char* leaf) { return fmt::format("blocks.{}.{}", index, leaf); };
    Unit unit;
    unit.layer = LayerIndex{static_cast<std::int16_t>(index)};
    unit.parameters = {named(name("qkv.weight"), {3 * c.hidden, c.hidden}),
                       named(name("proj.weight"), {c.hidden, c.hidden}),
                       named(name("fc.weight"), {4 * c.hidden, c.hidden}),
                       named(name("out.weight"), {c.hidden, 4 * c.hidden}),
                       named(name("ln1.weight"), {c.hidden}),
                       named(name("ln1.bias"), {c.hidden}),
                       named(name("ln2.weight"), {c.hidden}),
                       named(name("ln2.bias"), {c.hidden})};
    return unit;
}

}  // namespace

Gpt::Gpt(const control::ModelConfig& config) : m_config(config) {
    m_units.reserve(static_cast<std::size_t>(config.layers) + 1);
    m_units.push_back(rootUnit(config));
    for (std::int64_t i = 0; i < config.layers; ++i) m_units.push_back(blockUnit(config, i));
}

kernels::Parameter& Gpt::parameter(std::int64_t unit, int slot) {
    return m_units[static_cast<std::size_t>(unit)].parameters[static_cast<std::size_t>(slot)];
}

at::Tensor Gpt::embed(const at::Tensor& tokens) const {
    const kernels::OperatorScope scope("embedding");
    const auto& root = m_units[0].parameters;
    return kernels::embed(root[kTokens].value, root[kPositions].value, tokens);
}

void Gpt::embedBackward(const at::Tensor& tokens, const at::Tensor& dx) {
    const kernels::OperatorScope scope("embedding_backward");
    auto& root = m_units[0].parameters;
    if (!root[kPositions].accumulate) root[kPositions].gradient.zero_();
    kernels::addEmbeddingGradients(tokens, dx, root[kTokens].gradient, root[kPositions].gradient);
}

at::Tensor Gpt::block(std::int64_t index, const at::Tensor& x, std::int64_t rows) {
    const auto p = [&](int slot) -> kernels::Parameter& { return parameter(1 + index, slot); };
    const at::Tensor normed = kernels::layerNorm(x, p(kNorm1Weight), p(kNorm1Bias));
    const at::Tensor mixed =
        kernels::causalAttention(kernels::linear(normed, p(kQkv)), rows, m_config.heads);
    const at::Tensor residual = at::add(x, kernels::linear(mixed, p(kProjection)));
    const at::Tensor wide =
        kernels::linear(kernels::layerNorm(residual, p(kNorm2Weight), p(kNorm2Bias)), p(kFc));
    return at::add(residual, kernels::linear(at::gelu(wide), p(kOut)));
}

at::Tensor Gpt::head(const at::Tensor& x, const at::Tensor& targets, double scale, bool gradient,
                     const at::Tensor& loss) {
    auto& weight = parameter(0, kFinalWeight);
    auto& bias = parameter(0, kFinalBias);
    const auto [normed, mean, rstd] = at::native_layer_norm(x, {m_config.hidden}, weight.value,
                                                            bias.value, kernels::kLayerNormEpsilon);
    at::Tensor dNormed;
    if (gradient) dNormed = at::empty_like(normed);
    kernels::linearCrossEntropy(normed, parameter(0, kTokens), targets, scale, dNormed, loss);
    if (!gradient) return {};
    auto [dx, dWeight, dBias] = at::native_layer_norm_backward(
        dNormed, x, {m_config.hidden}, mean, rstd, weight.value, bias.value, {true, true, true});
    kernels::storeGradient(dWeight, weight);
    kernels::storeGradient(dBias, bias);
    return dx;
}

}  // namespace shardscope::gpt
