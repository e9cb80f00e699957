// Every fused operator against LibTorch in double precision, values and gradients, at sizes that
// do and do not fill vectors, rows and threads.
#include "engine/kernels/attention.h"
#include "engine/kernels/feed_forward.h"
#include "engine/kernels/heads.h"
#include "engine/kernels/norm.h"
#include "engine/kernels/norm_rows.h"
#include "engine/kernels/softmax.h"
#include "engine/kernels/vector_math.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <vector>

namespace shardscope::kernels {
namespace {

/// Half the distance of neighbouring fp32 numbers at 1.
constexpr double kEpsilon = 1.0 / (1 << 24);

/// Largest difference, in units of kEpsilon times the largest of `magnitudes`: what sums are made
/// of, which may cancel (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
/// section 3.1).
double ulps(const at::Tensor& value, const at::Tensor& expected, const at::Tensor& magnitudes) {
    const double most = std::max(1e-30, magnitudes.abs().max().item<double>());
    return (value.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>() /
           (kEpsilon * most);
}

double ulps(const at::Tensor& value, const at::Tensor& expected) {
    return ulps(value, expected, expected);
}

at::Tensor leaf(const at::Tensor& t) {
    return t.detach().clone().set_requires_grad(true);
}
at::Tensor doubleLeaf(const at::Tensor& t) {
    return t.detach().to(at::kDouble).set_requires_grad(true);
}

Parameter parameterOf(const at::Tensor& value) {
    Parameter parameter;
    parameter.shape = value.sizes().vec();
    parameter.value = value;
    parameter.gradient = at::full(value.sizes(), 7.0F);  // to be overwritten
    return parameter;
}

struct Size {
    std::int64_t rows, width;
};

class Fused : public testing::TestWithParam<Size> {
protected:
    Fused() { at::manual_seed(5); }
    [[nodiscard]] static at::Tensor random() { return at::randn({rows(), width()}); }
    [[nodiscard]] static std::int64_t rows() { return GetParam().rows; }
    [[nodiscard]] static std::int64_t width() { return GetParam().width; }
};

std::string nameOf(const testing::TestParamInfo<Size>& size) {
    return std::to_string(size.param.rows) + "x" + std::to_string(size.param.width);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Fused,
                         testing::Values(Size{1, 1}, Size{1, 7}, Size{1, 384}, Size{3, 16},
                                         Size{5, 33}, Size{64, 100}, Size{77, 129}, Size{130, 768}),
                         nameOf);

/// LayerNorm and RMSNorm by definition, differentiable.
at::Tensor plainNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor centred = bias.defined() ? x - x.mean(1, true) : x;
    const at::Tensor z = centred * at::rsqrt((centred * centred).mean(1, true) + 1e-5);
    return bias.defined() ? z * weight + bias : z * weight;
}

/// Sums over a row of n and, for the parameters, over the rows: errors grow with their square
/// roots; rstd up to 1 / sqrt(epsilon) magnifies a narrow row's.
TEST_P(Fused, NormsWithTheirResidualAreLibTorchs) {
    for (const bool layerNorm : {true, false}) {
        for (const bool adds : {false, true}) {
            SCOPED_TRACE(testing::Message() << "layer norm " << layerNorm << " adds " << adds);
            const at::Tensor x = random(), delta = random(), skip = random(), up = random();
            Parameter weight = parameterOf(at::randn({width()}));
            Parameter bias = parameterOf(at::randn({width()}));
            const Norm parameters{&weight, layerNorm ? &bias : nullptr};
            const at::Tensor mineX = leaf(x), mineDelta = leaf(delta);
            const Normed mine =
                adds ? addAndNormalise(mineX, mineDelta, parameters) : normalise(mineX, parameters);
            torch::autograd::backward({mine.stream, mine.value}, {skip, up});

            const at::Tensor x2 = doubleLeaf(x), delta2 = doubleLeaf(delta);
            const at::Tensor weight2 = doubleLeaf(weight.value);
            const at::Tensor bias2 = layerNorm ? doubleLeaf(bias.value) : at::Tensor();
            const at::Tensor stream = adds ? x2 + delta2 : x2;
            const at::Tensor value = plainNorm(stream, weight2, bias2);
            ((stream * skip).sum() + (value * up).sum()).backward();

            const double rowError = 8 * std::sqrt(static_cast<double>(width()));
            const double columnError = 8 * std::sqrt(static_cast<double>(rows())) + rowError;
            const double narrow = width() < 8 ? 400 : 1;
            EXPECT_LE(ulps(mine.stream, stream), 1);
            EXPECT_LE(ulps(mine.value, value), narrow * rowError);
            EXPECT_LE(ulps(mineX.grad(), x2.grad()), narrow * rowError);
            if (adds) {
                EXPECT_TRUE(at::equal(mineDelta.grad(), mineX.grad()));
            }
            EXPECT_LE((weight.gradient - weight2.grad()).abs().max().item<double>(),
                      narrow * columnError * kEpsilon * 4 * std::sqrt(static_cast<double>(rows())));
            if (layerNorm) {
                EXPECT_LE(ulps(bias.gradient, bias2.grad()), columnError);
            }
        }
    }
}

TEST_P(Fused, NormsAddToGradientsThatAreThere) {
    Parameter weight = parameterOf(at::randn({width()}));
    Parameter bias = parameterOf(at::randn({width()}));
    const at::Tensor x = random(), up = random();
    const auto run = [&] {
        const Normed mine = normalise(leaf(x), {&weight, &bias});
        torch::autograd::backward({mine.value}, {up});
    };
    run();
    const at::Tensor once = weight.gradient.clone(), onceBias = bias.gradient.clone();
    weight.accumulate = bias.accumulate = true;
    run();
    EXPECT_TRUE(at::equal(weight.gradient, 2 * once));
    EXPECT_TRUE(at::equal(bias.gradient, 2 * onceBias));
}

TEST_P(Fused, NormsRunOnSeveralThreads) {
    Parameter weight = parameterOf(at::randn({width()}));
    Parameter bias = parameterOf(at::randn({width()}));
    const at::Tensor x = random(), up = random();
    const auto run = [&] {
        const at::Tensor in = leaf(x);
        torch::autograd::backward({normalise(in, {&weight, &bias}).value}, {up});
        return std::vector{in.grad(), weight.gradient.clone(), bias.gradient.clone()};
    };
    const auto alone = run();
    at::set_num_threads(3);
    const auto together = run();
    at::set_num_threads(1);
    EXPECT_TRUE(at::equal(together[0], alone[0]));
    for (const int i : {1, 2})
        EXPECT_LE((together[static_cast<std::size_t>(i)] - alone[static_cast<std::size_t>(i)])
                      .abs()
                      .max()
                      .item<double>(),
                  64 * kEpsilon * static_cast<double>(rows()));
}

TEST_P(Fused, FeedForwardIsLibTorchs) {
    const std::int64_t inner = 2 * width() + 3;
    for (const bool gated : {false, true}) {
        SCOPED_TRACE(gated);
        const at::Tensor stream = random(), x = random(), up = random();
        const double spread = 1 / std::sqrt(static_cast<double>(width()));
        Parameter gate = parameterOf(at::randn({inner, width()}) * spread);
        Parameter fc = parameterOf(at::randn({inner, width()}) * spread);
        Parameter out = parameterOf(at::randn({width(), inner}) * spread);
        const at::Tensor mineStream = leaf(stream), mineX = leaf(x);
        const at::Tensor mine =
            feedForward(mineStream, mineX, {gated ? &gate : nullptr, &fc, &out});
        mine.backward(up);

        const at::Tensor stream2 = doubleLeaf(stream), x2 = doubleLeaf(x);
        const at::Tensor gate2 = doubleLeaf(gate.value), fc2 = doubleLeaf(fc.value),
                         out2 = doubleLeaf(out.value);
        const at::Tensor wide = at::linear(x2, fc2);
        const at::Tensor narrow = gated ? at::silu(at::linear(x2, gate2)) * wide : at::gelu(wide);
        const at::Tensor expected = stream2 + at::linear(narrow, out2);
        expected.backward(up.to(at::kDouble));

        const double error = 8 * std::sqrt(static_cast<double>(inner + rows()));
        const at::Tensor summands = stream2.abs() + at::linear(narrow.abs(), out2.abs());
        EXPECT_LE(ulps(mine, expected, summands), error);
        EXPECT_TRUE(at::equal(mineStream.grad(), up));
        EXPECT_LE(ulps(mineX.grad(), x2.grad()), error);
        EXPECT_LE(ulps(fc.gradient, fc2.grad()), error);
        EXPECT_LE(ulps(out.gradient, out2.grad()), error);
        if (gated) {
            EXPECT_LE(ulps(gate.gradient, gate2.grad()), error);
        }
    }
}

/// Densely over the range where the functions bend, and far outside.
std::vector<float> manyNumbers() {
    std::vector<float> x;
    for (int i = -160'000; i <= 160'000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
    for (const float far : {-1e4F, -90.0F, -30.0F, 30.0F, 90.0F, 1e4F}) x.push_back(far);
    return x;
}

TEST(VectorMath, IsAccurateToAFewUnitsInTheLastPlace) {
    for (const float x : manyNumbers()) {
        const double exact = x;
        if (x >= -87 && x <= 88) {
            EXPECT_NEAR(static_cast<double>(exponential(x)) / std::exp(exact), 1.0, 3 * kEpsilon)
                << x;
        }
        const Normal found = normal(x);
        // x² / 2 is rounded before the exponential, whose relative error it becomes.
        const double tolerance = (10 + exact * exact) * kEpsilon;
        const double upper = 0.5 * std::erfc(-exact / std::sqrt(2.0));
        EXPECT_NEAR(static_cast<double>(found.cumulative), upper, tolerance * upper + 1e-37) << x;
        const double density = std::exp(-exact * exact / 2) / std::sqrt(2 * M_PI);
        EXPECT_NEAR(static_cast<double>(found.density), density, tolerance * density + 1e-37) << x;
    }
}

TEST(VectorMath, KeepsWhatIsNotANumber) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(exponential(nan)));
    EXPECT_TRUE(std::isnan(normal(nan).cumulative));
    std::vector<float> x(40, 1.0F), y(40), d(40, 1.0F), gate(40, 1.0F);
    x[17] = nan;
    gelu(x.data(), y.data(), x.size());
    EXPECT_TRUE(std::isnan(y[17]));
    EXPECT_FALSE(std::isnan(y[16]));
    siluGate(x.data(), gate.data(), y.data(), x.size());
    EXPECT_TRUE(std::isnan(y[17]));
    EXPECT_TRUE(std::isnan(softmaxCrossEntropy(x.data(), x.size(), 3, 1.0F, true)));
}

TEST(Activations, AreTheirFormulasInDoublePrecision) {
    const std::vector<float> x = manyNumbers();
    const std::size_t n = x.size();
    std::vector<float> y(n), again(n), d(n, 1.5F);
    gelu(x.data(), y.data(), n);
    geluBackward(x.data(), again.data(), d.data(), n);
    EXPECT_EQ(y, again);
    std::vector<float> up(n), gated(n), gatedAgain(n), dUp(n, 1.5F), dGate(n);
    for (std::size_t i = 0; i < n; ++i) up[i] = std::cos(static_cast<float>(i));
    siluGate(x.data(), up.data(), gated.data(), n);
    siluGateBackward(x.data(), up.data(), gatedAgain.data(), dUp.data(), dGate.data(), n);
    EXPECT_EQ(gated, gatedAgain);
    for (std::size_t i = 0; i < n; ++i) {
        const double v = x[i], u = up[i];
        const double cumulative = 0.5 * std::erfc(-v / std::sqrt(2.0));
        const double density = std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
        const double scale = 12 * kEpsilon * std::max(1.0, std::abs(v));
        EXPECT_NEAR(static_cast<double>(y[i]), v * cumulative, scale) << v;
        EXPECT_NEAR(static_cast<double>(d[i]), 1.5 * (cumulative + v * density), 2 * scale) << v;
        const double sigmoid = 1 / (1 + std::exp(-v));
        EXPECT_NEAR(static_cast<double>(gated[i]), v * sigmoid * u, scale) << v;
        EXPECT_NEAR(static_cast<double>(dUp[i]), 1.5 * v * sigmoid, 2 * scale) << v;
        EXPECT_NEAR(static_cast<double>(dGate[i]),
                    1.5 * u * (sigmoid + v * sigmoid * (1 - sigmoid)), 2 * scale)
            << v;
    }
}

TEST(Softmax, IsCausalAndItsGradientIsLibTorchs) {
    at::manual_seed(5);
    for (const std::int64_t context : {1, 2, 7, 16, 33, 130}) {
        SCOPED_TRACE(context);
        const std::int64_t n = 3;
        const at::Tensor scores = at::randn({n, context, context}) * 5;
        const at::Tensor up = at::randn(scores.sizes());
        const float scale = 0.3F;
        at::Tensor p = scores.clone();
        causalSoftmax(p.mutable_data_ptr<float>(), n, context, scale);
        at::Tensor d = up.clone();
        causalSoftmaxBackward(p.const_data_ptr<float>(), d.mutable_data_ptr<float>(), n, context,
                              scale);
        const at::Tensor scores2 = doubleLeaf(scores);
        const at::Tensor mask =
            at::full({context, context}, -std::numeric_limits<double>::infinity(), at::kDouble)
                .triu_(1);
        const at::Tensor expected = at::softmax(scores2 * static_cast<double>(scale) + mask, -1);
        expected.backward(up.to(at::kDouble));
        EXPECT_LE(ulps(p, expected), 32);
        EXPECT_LE(ulps(d, scores2.grad()), 64);
    }
}

TEST(Softmax, CrossEntropyOfARowIsLibTorchs) {
    at::manual_seed(5);
    for (const std::int64_t width : {1, 2, 15, 16, 257, 10'000}) {
        for (const bool gradient : {true, false}) {
            const at::Tensor logits = at::randn({1, width}) * 8;
            const std::int64_t target = width / 2;
            at::Tensor row = logits.clone();
            const double loss =
                softmaxCrossEntropy(row.mutable_data_ptr<float>(), static_cast<std::size_t>(width),
                                    static_cast<std::size_t>(target), 0.25F, gradient);
            const at::Tensor logits2 = doubleLeaf(logits);
            const at::Tensor expected = at::cross_entropy_loss(
                logits2, at::full({1}, target, at::kLong), {}, at::Reduction::Sum);
            EXPECT_NEAR(loss, expected.item<double>(),
                        64 * kEpsilon * std::max(1.0, std::abs(loss)))
                << width;
            if (!gradient) continue;
            (0.25 * expected).backward();
            EXPECT_LE((row - logits2.grad()).abs().max().item<double>(), 16 * kEpsilon) << width;
        }
    }
}

/// x_i cos - x_(i + D/2) sin and so on, as complex numbers in double precision.
at::Tensor plainRotary(const at::Tensor& x) {
    const std::int64_t half = x.size(3) / 2;
    const at::Tensor frequency =
        at::pow(10'000.0, -at::arange(half, at::kDouble) * 2 / static_cast<double>(2 * half));
    const at::Tensor angle = at::outer(at::arange(x.size(2), at::kDouble), frequency);
    const at::Tensor turned = at::complex(x.narrow(3, 0, half), x.narrow(3, half, half)) *
                              at::complex(at::cos(angle), at::sin(angle));
    return at::cat({at::real(turned), at::imag(turned)}, 3);
}

struct AttentionCase {
    AttentionKind kind;
    std::int64_t rows, context, heads, headDim;
};

class RotaryAttention : public testing::TestWithParam<AttentionCase> {};

TEST_P(RotaryAttention, IsLibTorchsInDoublePrecision) {
    at::manual_seed(5);
    const auto [kind, rows, context, heads, headDim] = GetParam();
    const std::int64_t hidden = heads * headDim;
    useAttention(kind);
    for (const bool rope : {false, true}) {
        SCOPED_TRACE(rope);
        const at::Tensor rotary = rope ? rotaryTable(context + 3, headDim) : at::Tensor();
        const at::Tensor qkv = at::randn({rows * context, 3 * hidden});
        const at::Tensor up = at::randn({rows * context, hidden});
        const at::Tensor mine = leaf(qkv);
        const at::Tensor out = causalAttention(mine, rows, heads, rotary);
        out.backward(up);
        const at::Tensor dispatched = leaf(qkv);
        const at::Tensor outDispatched = dispatchedAttention(dispatched, rows, heads, rotary);
        outDispatched.backward(up);

        const at::Tensor qkv2 = doubleLeaf(qkv);
        const auto split = qkv2.view({rows, context, 3, heads, headDim});
        const auto part = [&](std::int64_t i) {
            const at::Tensor t = split.select(2, i).transpose(1, 2);
            return rope && i < 2 ? plainRotary(t) : t;
        };
        const at::Tensor expected =
            at::scaled_dot_product_attention(part(0), part(1), part(2), {}, 0.0, true)
                .transpose(1, 2)
                .reshape({rows * context, hidden});
        expected.backward(up.to(at::kDouble));
        // Sums over D, over the keys, and over the queries: 2 each, and the softmax's own error.
        const double error = 16 * std::sqrt(static_cast<double>(headDim + context));
        EXPECT_LE(ulps(out, expected), error);
        EXPECT_LE(ulps(mine.grad(), qkv2.grad()), error);
        EXPECT_LE(ulps(outDispatched, expected), error);
        EXPECT_LE(ulps(dispatched.grad(), qkv2.grad()), error);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RotaryAttention,
                         testing::Values(AttentionCase{AttentionKind::kBlocked, 1, 1, 1, 2},
                                         AttentionCase{AttentionKind::kBlocked, 3, 33, 2, 6},
                                         AttentionCase{AttentionKind::kBlocked, 2, 128, 3, 64},
                                         AttentionCase{AttentionKind::kFlash, 1, 1, 1, 2},
                                         AttentionCase{AttentionKind::kFlash, 3, 33, 2, 6},
                                         AttentionCase{AttentionKind::kFlash, 2, 128, 3, 64}));

TEST(Rotary, MovesBackWhatItMoved) {
    at::manual_seed(5);
    const at::Tensor x = at::randn({2, 3, 20, 8});
    const at::Tensor table = rotaryTable(20, 8);
    EXPECT_LE(ulps(rotated(x, table), plainRotary(x.to(at::kDouble))), 4);
    EXPECT_LE(ulps(rotated(rotated(x, table), table, true), x), 8);
    // A query's product with a key depends on their distance only.
    const at::Tensor q = at::randn({1, 1, 1, 8}).expand({1, 1, 20, 8});
    const at::Tensor turned = rotated(q, table).view({20, 8});
    const at::Tensor products = turned.mm(turned.t());
    EXPECT_NEAR(products[3][7].item<double>(), products[11][15].item<double>(), 1e-5);
}

}  // namespace
}  // namespace shardscope::kernels
