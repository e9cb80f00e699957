// The whole model, with every combination of its options, against the same model written with
// LibTorch's plain operators in double precision: loss and the gradients of all parameters.
#include "engine/gpt/gpt.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "engine/run/theory/model_theory.h"
#include "engine/training/session.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>

namespace shardscope {
namespace {

using run::ModelConfig;

constexpr std::int64_t kRows = 3;
constexpr double kScale = 0.01;

struct Weights {
    std::map<std::string, at::Tensor> values;
    [[nodiscard]] const at::Tensor& at(const std::string& name) const { return values.at(name); }
    [[nodiscard]] bool has(const std::string& name) const { return values.count(name) > 0; }
};

at::Tensor norm(const Weights& w, const std::string& name, const at::Tensor& x) {
    const std::int64_t width = x.size(-1);
    if (w.has(name + ".bias"))
        return at::layer_norm(x, {width}, w.at(name + ".weight"), w.at(name + ".bias"), 1e-5);
    return at::rms_norm(x, {width}, w.at(name + ".weight"), 1e-5);
}

/// (B, H, T, D), the halves of a head turned as complex numbers.
at::Tensor rotary(const at::Tensor& x) {
    const std::int64_t half = x.size(3) / 2;
    const at::Tensor frequency =
        at::pow(10'000.0, at::arange(half, at::kDouble) / static_cast<double>(-half));
    const at::Tensor angle = at::outer(at::arange(x.size(2), at::kDouble), frequency);
    const at::Tensor turned = at::complex(x.narrow(3, 0, half), x.narrow(3, half, half)) *
                              at::polar(at::ones_like(angle), angle);
    return at::cat({at::real(turned), at::imag(turned)}, 3);
}

at::Tensor block(const ModelConfig& m, const Weights& w, const std::string& b,
                 const at::Tensor& x) {
    const std::int64_t rows = x.size(0), context = x.size(1);
    const at::Tensor qkv = at::linear(norm(w, b + "ln1", x), w.at(b + "qkv.weight"));
    const auto heads = [&](std::int64_t part) {
        return qkv.narrow(2, part * m.hidden, m.hidden)
            .view({rows, context, m.heads, m.hidden / m.heads})
            .transpose(1, 2);
    };
    const bool rope = m.position == run::Position::kRope;
    const at::Tensor q = rope ? rotary(heads(0)) : heads(0);
    const at::Tensor k = rope ? rotary(heads(1)) : heads(1);
    const at::Tensor mixed = at::scaled_dot_product_attention(q, k, heads(2), {}, 0.0, true)
                                 .transpose(1, 2)
                                 .reshape({rows, context, m.hidden});
    const at::Tensor between = x + at::linear(mixed, w.at(b + "proj.weight"));
    const at::Tensor normed = norm(w, b + "ln2", between);
    const at::Tensor wide = at::linear(normed, w.at(b + "fc.weight"));
    const at::Tensor narrow = w.has(b + "gate.weight")
                                  ? at::silu(at::linear(normed, w.at(b + "gate.weight"))) * wide
                                  : at::gelu(wide);
    return between + at::linear(narrow, w.at(b + "out.weight"));
}

/// Sum of cross entropies.
at::Tensor plainLoss(const ModelConfig& m, const Weights& w, const at::Tensor& tokens,
                     const at::Tensor& targets) {
    at::Tensor x = at::embedding(w.at("wte.weight"), tokens);
    if (w.has("wpe.weight")) x = x + w.at("wpe.weight").narrow(0, 0, tokens.size(1));
    for (std::int64_t i = 0; i < m.layers; ++i)
        x = block(m, w, "blocks." + std::to_string(i) + ".", x);
    const at::Tensor& head = w.at(w.has("head.weight") ? "head.weight" : "wte.weight");
    const at::Tensor logits = at::linear(norm(w, "ln_f", x), head).flatten(0, 1);
    return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum);
}

struct Computed {
    double loss = 0;
    std::map<std::string, at::Tensor> gradients;
};

/// Calls visit(name, parameters): all pieces of a tensor, in order.
template <class Visit>
void forEachTensor(gpt::Gpt& model, const Visit& visit) {
    std::map<std::string, std::vector<kernels::Parameter*>> tensors;
    for (gpt::Unit& unit : model.units())
        for (kernels::Parameter& p : unit.parameters) tensors[p.name].push_back(&p);
    for (const auto& [name, pieces] : tensors) visit(name, pieces);
}

/// As the trainer does it: a graph a block, passes over pieces.
at::Tensor embed(const gpt::Gpt& model, const at::Tensor& tokens) {
    const at::Tensor x = model.embed(tokens);
    for (std::size_t i = 1; i < model.tokenUnits().size(); ++i) model.embed(tokens, i, x);
    return x;
}

at::Tensor head(gpt::Gpt& model, const at::Tensor& x, const at::Tensor& targets,
                const at::Tensor& loss) {
    const std::size_t pieces = model.headUnits().size();
    if (pieces == 1) return model.head(x, targets, kScale, true, loss);
    gpt::Gpt::HeadPass pass = model.beginHead(x, targets, kScale);
    for (std::size_t i = 0; i < pieces; ++i) model.scoreHead(pass, i);
    model.addLoss(pass, loss);
    for (std::size_t i = pieces; i-- > 0;) model.headBackward(pass, i);
    return model.endHead(pass);
}

/// The gradients of a tied table in pieces come twice, and are added up where they are reduced.
void embedBackward(gpt::Gpt& model, const at::Tensor& tokens, const at::Tensor& dx) {
    const bool twice = model.config().tieHead && model.headUnits().size() > 1;
    for (std::size_t i = 0; i < model.tokenUnits().size(); ++i) {
        kernels::Parameter& table = model.units()[model.tokenUnits()[i]].parameters[0];
        const at::Tensor ofHead = table.gradient.clone();
        model.embedBackward(tokens, dx, i);
        if (twice && !table.accumulate) table.gradient.add_(ofHead);
    }
}

Computed ours(gpt::Gpt& model, const at::Tensor& tokens, const at::Tensor& targets) {
    const at::Tensor loss = at::zeros({}, at::kDouble);
    std::vector<std::pair<at::Tensor, at::Tensor>> segments;
    at::Tensor x = embed(model, tokens);
    for (std::int64_t i = 0; i < model.config().layers; ++i) {
        const at::Tensor in = x.detach().set_requires_grad(true);
        segments.emplace_back(in, model.block(i, in, tokens.size(0)));
        x = segments.back().second.detach();
    }
    at::Tensor dx = head(model, x, targets, loss);
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
        torch::autograd::backward({segment->second}, {dx});
        dx = segment->first.grad();
    }
    embedBackward(model, tokens, dx);
    Computed result;
    result.loss = loss.item<double>();
    forEachTensor(model, [&](const std::string& name, const auto& pieces) {
        std::vector<at::Tensor> parts;
        for (const kernels::Parameter* p : pieces) parts.push_back(p->gradient.to(at::kDouble));
        result.gradients[name] = at::cat(parts);
    });
    return result;
}

Computed plain(gpt::Gpt& model, const at::Tensor& tokens, const at::Tensor& targets) {
    Weights weights;
    forEachTensor(model, [&](const std::string& name, const auto& pieces) {
        std::vector<at::Tensor> parts;
        for (const kernels::Parameter* p : pieces) parts.push_back(p->value.to(at::kDouble));
        weights.values[name] = at::cat(parts).set_requires_grad(true);
    });
    const at::Tensor loss = plainLoss(model.config(), weights, tokens, targets);
    (loss * kScale).backward();
    Computed result;
    result.loss = loss.item<double>();
    for (const auto& [name, value] : weights.values) result.gradients[name] = value.grad();
    return result;
}

/// Weights a good deal larger than a start's, so that no part of the model is nearly linear.
void fill(gpt::Gpt& model, at::ScalarType type) {
    for (gpt::Unit& unit : model.units()) {
        for (kernels::Parameter& p : unit.parameters) {
            const double spread = p.group == run::ParameterGroup::kVector ? 0.5 : 0.2;
            p.value = (at::randn(p.shape) * spread).to(type);
            p.gradient = at::full(p.shape, 7.0F);  // to be overwritten
        }
    }
}

ModelConfig tiny() {
    ModelConfig model;
    model.vocabulary = 37;
    model.context = 12;
    model.layers = 2;
    model.heads = 3;
    model.hidden = 18;
    return model;
}

ModelConfig option(int bits) {
    ModelConfig model = tiny();
    if ((bits & 1) != 0) model.norm = run::Norm::kRmsNorm;
    if ((bits & 2) != 0) model.position = run::Position::kRope;
    if ((bits & 4) != 0) model.ffn = run::FeedForward::kSwiglu;
    if ((bits & 8) != 0) model.tieHead = false;
    if ((bits & 5) == 5) model.ffnWidth = 50;
    return model;
}

/// The same with the vocabulary of 37 in pieces of 13, 13 and 11 rows.
run::RunConfig run(int bits) {
    run::RunConfig config;
    config.model = option(bits);
    config.vocabularyPieces = (bits & 16) != 0 ? 3 : 1;
    return config;
}

std::string nameOf(const testing::TestParamInfo<int>& bits) {
    const ModelConfig m = option(bits.param);
    return std::string(toWord(m.norm)) + "_" + toWord(m.position) + "_" + toWord(m.ffn) +
           (m.tieHead ? "_tied" : "_untied") + ((bits.param & 16) != 0 ? "_pieces" : "");
}

class ModelOptions : public testing::TestWithParam<int> {
protected:
    ModelOptions() : m_config(option(GetParam())), m_model(run(GetParam())) {
        at::manual_seed(11);
        kernels::useMatmulLibrary(kernels::MatmulLibrary::kMkl);
        m_tokens = at::randint(0, m_config.vocabulary, {kRows, m_config.context}, at::kLong);
        m_targets = at::randint(0, m_config.vocabulary, {kRows * m_config.context}, at::kLong);
    }

    /// Largest relative error of a gradient, in the 2-norm.
    void expectClose(const Computed& a, const Computed& b, double loss, double gradient) {
        EXPECT_NEAR(a.loss / b.loss, 1.0, loss);
        ASSERT_EQ(a.gradients.size(), b.gradients.size());
        for (const auto& [name, expected] : b.gradients) {
            const at::Tensor difference = a.gradients.at(name) - expected;
            EXPECT_LE(difference.norm().item<double>(), gradient * expected.norm().item<double>())
                << name;
        }
    }

    ModelConfig m_config;
    gpt::Gpt m_model;
    at::Tensor m_tokens, m_targets;
};
INSTANTIATE_TEST_SUITE_P(All, ModelOptions, testing::Range(0, 32), nameOf);

// 2^-24 through some dozens of sums of up to 54 terms, and their backward.
TEST_P(ModelOptions, GiveTheLossAndGradientsOfPlainOperators) {
    fill(m_model, at::kFloat);
    const Computed expected = plain(m_model, m_tokens, m_targets);
    for (const auto kind : {kernels::AttentionKind::kBlocked, kernels::AttentionKind::kFlash}) {
        kernels::useAttention(kind);
        expectClose(ours(m_model, m_tokens, m_targets), expected, 1e-6, 4e-6);
    }
}

TEST_P(ModelOptions, AddUpTheGradientsOfMicroSteps) {
    fill(m_model, at::kFloat);
    Computed expected = ours(m_model, m_tokens, m_targets);
    for (auto& [name, gradient] : expected.gradients) gradient = gradient * 2;
    for (gpt::Unit& unit : m_model.units())
        for (kernels::Parameter& p : unit.parameters) p.accumulate = true;
    expectClose(ours(m_model, m_tokens, m_targets), expected, 1e-12, 1e-6);
}

// The weights are rounded alike, so that what is left is the rounding of activations: 2^-9 and
// 2^-12 a time, some dozens of times.
TEST_P(ModelOptions, RunInHalfPrecision) {
    kernels::useAttention(kernels::AttentionKind::kFlash);
    for (const auto& [type, unit] :
         {std::pair(at::kBFloat16, 1.0 / 512), std::pair(at::kHalf, 1.0 / 4096)}) {
        SCOPED_TRACE(at::toString(type));
        fill(m_model, type);
        const Computed found = ours(m_model, m_tokens, m_targets);
        expectClose(found, plain(m_model, m_tokens, m_targets), 2 * unit, 12 * unit);
    }
}

TEST_P(ModelOptions, SumsOfEveryUnitAreTheTablesTensors) {
    std::int64_t count = 0;
    for (const gpt::Unit& unit : m_model.units()) {
        bool vectors = false;
        for (const kernels::Parameter& p : unit.parameters) {
            const bool vector = p.group == run::ParameterGroup::kVector;
            EXPECT_EQ(vector, p.shape.size() == 1) << p.name;
            EXPECT_FALSE(vectors && !vector) << p.name << " follows a vector";
            vectors = vectors || vector;
            count += p.count();
        }
    }
    EXPECT_EQ(count, theory::parameterCount(m_config));
}

TEST_P(ModelOptions, StartFromGpt2sScheme) {
    for (const gpt::Unit& unit : m_model.units()) {
        for (const kernels::Parameter& p : unit.parameters) {
            const at::Tensor value = gpt::initialValue(p, m_config, 3);
            if (p.group == run::ParameterGroup::kVector) {
                const float expected = p.name.ends_with("weight") ? 1.0F : 0.0F;
                EXPECT_TRUE(at::equal(value, at::full(p.shape, expected))) << p.name;
                continue;
            }
            const bool residual = p.name.ends_with("proj.weight") || p.name.ends_with("out.weight");
            const double deviation = residual ? 0.02 / std::sqrt(4.0) : 0.02;
            EXPECT_NEAR(value.std().item<double>() / deviation, 1.0, 0.2) << p.name;
        }
    }
}

/// Losses of a few steps on `ranks` ranks.
std::vector<double> losses(const run::RunConfig& config) {
    std::vector<double> result;
    test::runRanks(config.ranks, [&](comm::Communicator& c) {
        gpt::Gpt model(config);
        const auto partitioning = training::makePartitioning(
            config, training::placementOf(config, at::kCPU), model, c, nullptr);
        partitioning->load([&](const kernels::Parameter& p) {
            return gpt::initialValue(p, config.model, config.seed);
        });
        training::BatchSource batches;
        batches.stepTokens = 4 * config.model.context * config.accumulate;
        const std::int64_t rows = 4 / config.ranks;
        batches.training = [&](std::int32_t step, std::int32_t) {
            const at::Tensor all =
                (at::arange(4 * (config.model.context + 1), at::kLong) * 7 + step)
                    .remainder(config.model.vocabulary)
                    .view({4, config.model.context + 1})
                    .narrow(0, c.rank() * rows, rows);
            return data::Batch{all.narrow(1, 0, config.model.context).contiguous(),
                               all.narrow(1, 1, config.model.context).flatten()};
        };
        training::Trainer trainer(config, at::kCPU, model, *partitioning, c, batches, nullptr);
        for (std::int32_t step = 0; step < config.steps; ++step) {
            const auto stepped = trainer.step(step, false, training::AfterStep::kPause);
            ASSERT_TRUE(stepped) << stepped.error().message;
            if (c.rank() == 0) result.push_back(stepped->front().loss);
        }
    });
    return result;
}

TEST_P(ModelOptions, TrainAlikeOnOneAndTwoRanks) {
    run::RunConfig config = run(GetParam());
    config.steps = 6;
    config.warmupSteps = 1;
    config.learningRate = 3e-3;
    config.accumulate = 2;
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    const auto expected = losses(config);
    ASSERT_EQ(expected.size(), 6U);
    EXPECT_LT(expected.back(), expected.front());
    config.strategy = run::Strategy::kZero3;
    config.ranks = 2;
    const auto found = losses(config);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i] / expected[i], 1.0, 2e-6) << i;
}

}  // namespace
}  // namespace shardscope
