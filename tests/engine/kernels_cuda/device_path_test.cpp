// The engine's device path, operator by operator, on a CUDA backend in host memory: the same
// numbers as the CPU's, and what a micro-step of ref would launch and move on a GPU.
#include "engine/gpt/gpt.h"
#include "tests/engine/kernels_cuda/fake_cuda.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace shardscope {
namespace {

/// A model whose parameters lie whole on a device, as those of the strategy `single`.
class Place {
public:
    Place(const run::RunConfig& config, at::ScalarType type, at::Device device, bool initialised)
        : m_rows(config.batch), m_model(config) {
        for (gpt::Unit& unit : m_model.units()) {
            for (kernels::Parameter& p : unit.parameters) {
                const auto options = at::TensorOptions().device(device);
                p.value = at::empty(p.shape, options.dtype(type));
                p.gradient = at::empty(p.shape, options.dtype(at::kFloat));
                if (initialised) p.value.copy_(p.pieceOf(gpt::initialValue(p, config.model, 7)));
            }
        }
        loss = at::zeros({}, at::TensorOptions().device(device).dtype(at::kDouble));
    }

    /// As engine/training/trainer.cpp has it: a graph a block.
    void microStep(const at::Tensor& tokens, const at::Tensor& targets, bool accumulate) {
        for (gpt::Unit& unit : m_model.units())
            for (kernels::Parameter& p : unit.parameters) p.accumulate = accumulate;
        const std::int64_t layers = m_model.config().layers;
        at::Tensor x = m_model.embed(tokens);
        for (std::size_t i = 1; i < m_model.tokenUnits().size(); ++i) m_model.embed(tokens, i, x);
        std::vector<at::Tensor> inputs, outputs;
        for (std::int64_t i = 0; i < layers; ++i) {
            const at::AutoGradMode graph(true);
            inputs.push_back(x.detach().set_requires_grad(true));
            outputs.push_back(m_model.block(i, inputs.back(), m_rows));
            x = outputs.back().detach();
        }
        at::Tensor dx = head(x, targets);
        for (std::size_t i = outputs.size(); i-- > 0;) {
            torch::autograd::backward({outputs[i]}, {dx});
            dx = inputs[i].grad();
            outputs[i] = inputs[i] = at::Tensor();
        }
        for (std::size_t i = 0; i < m_model.tokenUnits().size(); ++i)
            m_model.embedBackward(tokens, dx, i);
    }

    [[nodiscard]] std::vector<gpt::Unit>& units() { return m_model.units(); }
    at::Tensor loss;

private:
    /// As engine/training/outer_layers.cpp has it.
    at::Tensor head(const at::Tensor& x, const at::Tensor& targets) {
        // A mean over 16 tokens, times a loss scale that keeps fp16 gradients out of subnormals.
        constexpr double kScale = 1024.0 / 16;
        const std::size_t pieces = m_model.headUnits().size();
        if (pieces == 1) return m_model.head(x, targets, kScale, true, loss);
        gpt::Gpt::HeadPass pass = m_model.beginHead(x, targets, kScale);
        for (std::size_t i = 0; i < pieces; ++i) m_model.scoreHead(pass, i);
        m_model.addLoss(pass, loss);
        for (std::size_t i = 0; i < pieces; ++i) m_model.headBackward(pass, i);
        return m_model.endHead(pass);
    }

    std::int64_t m_rows;
    gpt::Gpt m_model;
};

run::RunConfig tiny(run::Norm norm, run::FeedForward ffn, run::Position position) {
    run::RunConfig config;
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    config.batch = 2;
    config.model = {};
    config.model.vocabulary = 77;
    config.model.context = 8;
    config.model.layers = 2;
    config.model.heads = 2;
    config.model.hidden = 32;
    config.model.norm = norm;
    config.model.ffn = ffn;
    config.model.position = position;
    return config;
}

/// Largest difference beside the largest value.
double apart(const at::Tensor& found, const at::Tensor& expected) {
    const at::Tensor host = found.cpu().to(at::kDouble), wide = expected.to(at::kDouble);
    return ((host - wide).abs().max() / (wide.abs().max() + 1e-12)).item<double>();
}

void compare(const run::RunConfig& config, at::ScalarType type, double limit) {
    SCOPED_TRACE(at::toString(type));
    test::FakeCuda cuda(true);
    at::manual_seed(5);
    Place host(config, type, at::kCPU, true), device(config, type, at::Device(at::kCUDA, 0), true);
    for (int step = 0; step < 2; ++step) {
        const at::Tensor tokens = at::randint(0, 77, {2, 8}, at::kLong);
        const at::Tensor targets = at::randint(0, 77, {16}, at::kLong);
        host.microStep(tokens, targets, step > 0);
        device.microStep(tokens.to(at::kCUDA), targets.to(at::kCUDA), step > 0);
    }
    EXPECT_LT(apart(device.loss, host.loss), limit / 10);
    for (std::size_t u = 0; u < host.units().size(); ++u) {
        for (std::size_t i = 0; i < host.units()[u].parameters.size(); ++i) {
            const kernels::Parameter& expected = host.units()[u].parameters[i];
            const kernels::Parameter& found = device.units()[u].parameters[i];
            ASSERT_TRUE(found.gradient.is_cuda());
            EXPECT_LT(apart(found.gradient, expected.gradient), limit) << expected.name;
        }
    }
}

TEST(DevicePath, GivesTheGradientsOfCpuRanks) {
    const auto config =
        tiny(run::Norm::kLayerNorm, run::FeedForward::kGelu, run::Position::kLearned);
    compare(config, at::kFloat, 2e-6);
    compare(config, at::kBFloat16, 0.02);
    compare(config, at::kHalf, 0.0025);
}

TEST(DevicePath, GivesThoseOfRmsNormAndSwigluToo) {
    const auto config = tiny(run::Norm::kRmsNorm, run::FeedForward::kSwiglu, run::Position::kRope);
    compare(config, at::kFloat, 2e-6);
    compare(config, at::kBFloat16, 0.02);
    compare(config, at::kHalf, 0.0025);
}

/// Of 64 rows and 13: one of them has logits with gaps between their rows.
TEST(DevicePath, GivesThoseOfAVocabularyInPiecesToo) {
    auto config = tiny(run::Norm::kLayerNorm, run::FeedForward::kGelu, run::Position::kLearned);
    config.strategy = run::Strategy::kZero3;
    config.vocabularyPieces = 2;
    for (const bool tied : {true, false}) {
        config.model.tieHead = tied;
        compare(config, at::kFloat, 2e-6);
        compare(config, at::kBFloat16, 0.02);
        compare(config, at::kHalf, 0.0025);
    }
}

/// A micro-step of 4 x 512 tokens in bf16 that adds to fp32 gradients, with LibTorch's layer norm,
/// GELU and embedding: 430 launches and 4,072 MB by the same rule. 195 of both are products and
/// attention.
TEST(DevicePath, LaunchesAndMovesNoMoreThanItNeeds) {
    test::FakeCuda cuda(false);
    run::RunConfig config;
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    config.batch = 4;
    config.model = *run::findModelPreset("ref");
    Place device(config, at::kBFloat16, at::Device(at::kCUDA, 0), false);
    const at::Tensor tokens = test::fakeCudaTensor({4, 512}, at::kLong);
    const at::Tensor targets = test::fakeCudaTensor({2048}, at::kLong);
    static_cast<void>(cuda.take());
    device.microStep(tokens, targets, true);
    const test::DeviceTally tally = cuda.take();
    EXPECT_LE(tally.total().launches, 287) << tally.text();
    EXPECT_LE(tally.total().bytes, 2'800'000'000) << tally.text();
}

}  // namespace
}  // namespace shardscope
