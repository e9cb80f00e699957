#include "engine/kernels/adamw.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/matmul.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace shardscope::kernels {
namespace {

double relativeError(const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>();
}

class Products : public testing::TestWithParam<MatmulLibrary> {
protected:
    Products() { useMatmulLibrary(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Libraries, Products,
                         testing::Values(MatmulLibrary::kMkl, MatmulLibrary::kOneDnn));

TEST_P(Products, EqualAtensForTransposedInputsAndAccumulation) {
    const at::Tensor a = at::randn({37, 19});
    const at::Tensor b = at::randn({23, 19});
    const at::Tensor out = at::ones({37, 23});
    matmul(a, b.t(), out);
    EXPECT_LT(relativeError(out, at::mm(a, b.t())), 1e-6);
    matmul(a, b.t(), out, true);
    EXPECT_LT(relativeError(out, 2 * at::mm(a, b.t())), 1e-6);
    const at::Tensor inner = at::empty({19, 19});
    matmul(a.t(), a, inner);
    EXPECT_LT(relativeError(inner, at::mm(a.t(), a)), 1e-6);
}

TEST_P(Products, LinearGivesAutogradsGradients) {
    const at::Tensor x = at::randn({11, 8}).requires_grad_(true);
    Parameter weight{"w", {5, 8}, at::randn({5, 8}), at::ones({5, 8}), false, {}, {}};
    const at::Tensor y = linear(x, weight);
    torch::autograd::backward({y.sum()}, {});
    const at::Tensor x2 = x.detach().clone().requires_grad_(true);
    const at::Tensor w2 = weight.value.clone().requires_grad_(true);
    torch::autograd::backward({at::linear(x2, w2).sum()}, {});
    EXPECT_LT(relativeError(y, at::linear(x2, w2)), 1e-6);
    EXPECT_LT(relativeError(x.grad(), x2.grad()), 1e-6);
    EXPECT_LT(relativeError(weight.gradient, w2.grad()), 1e-6);
}

TEST(Linear, ReadsItsWeightAgainInBackward) {
    const at::Tensor x = at::ones({2, 2}).requires_grad_(true);
    Parameter weight{"w", {2, 2}, at::ones({2, 2}), at::zeros({2, 2}), false, {}, {}};
    const at::Tensor y = linear(x, weight);
    weight.value = at::full({2, 2}, 3.0F);  // gathered again elsewhere
    torch::autograd::backward({y.sum()}, {});
    EXPECT_TRUE(at::equal(x.grad(), at::full({2, 2}, 6.0F)));
}

TEST_P(Products, FusedHeadEqualsTheUnfusedOne) {
    const std::int64_t rows = 50, hidden = 12, vocabulary = 70'000;  // several chunks
    const at::Tensor x = at::randn({rows, hidden});
    Parameter weight{"wte",
                     {vocabulary, hidden},
                     at::randn({vocabulary, hidden}),
                     at::zeros({vocabulary, hidden}),
                     false,
                     {},
                     {}};
    const at::Tensor targets = at::randint(0, vocabulary, {rows}, at::kLong);
    const at::Tensor dx = at::empty_like(x);
    const at::Tensor sum = at::zeros({}, at::kDouble);
    linearCrossEntropy(x, weight, targets, 0.5, dx, sum);
    const double loss = sum.item<double>();

    const at::Tensor x2 = x.clone().requires_grad_(true);
    const at::Tensor w2 = weight.value.clone().requires_grad_(true);
    const at::Tensor expected =
        at::cross_entropy_loss(at::linear(x2, w2), targets, {}, at::Reduction::Sum);
    torch::autograd::backward({0.5 * expected}, {});
    EXPECT_NEAR(loss, expected.item<double>(), 1e-4 * loss);
    EXPECT_LT(relativeError(dx, x2.grad()), 1e-5);
    EXPECT_LT(relativeError(weight.gradient, w2.grad()), 1e-5);
    linearCrossEntropy(x, weight, targets, 0.5, at::Tensor(), sum);
    EXPECT_DOUBLE_EQ(sum.item<double>(), 2 * loss);
}

class Attention : public testing::TestWithParam<AttentionKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Attention,
                         testing::Values(AttentionKind::kFlash, AttentionKind::kBlocked));

TEST_P(Attention, EqualsScaledDotProductAttentionForwardAndBackward) {
    const std::int64_t rows = 3, context = 40, heads = 2, hidden = 12;
    const at::Tensor qkv = at::randn({rows * context, 3 * hidden});
    const at::Tensor direction = at::randn({rows * context, hidden});
    useAttention(GetParam());
    const at::Tensor mine = qkv.clone().requires_grad_(true);
    const at::Tensor out = causalAttention(mine, rows, heads);
    out.backward(direction);

    const at::Tensor theirs = qkv.clone().requires_grad_(true);
    const auto split = theirs.view({rows, context, 3, heads, hidden / heads});
    const auto part = [&](std::int64_t i) { return split.select(2, i).transpose(1, 2); };
    const at::Tensor expected =
        at::scaled_dot_product_attention(part(0), part(1), part(2), {}, 0.0, true)
            .transpose(1, 2)
            .reshape({rows * context, hidden});
    expected.backward(direction);
    EXPECT_LT(relativeError(out, expected), 1e-6);
    EXPECT_LT(relativeError(mine.grad(), theirs.grad()), 2e-6);
}

TEST(AdamW, FollowsTheFormulaInDoublePrecision) {
    const std::size_t n = 1003;
    std::vector<float> p(n), g(n), m(n), v(n);
    std::vector<double> p2(n), m2(n), v2(n);
    for (std::size_t i = 0; i < n; ++i) {
        p[i] = std::sin(static_cast<float>(i));
        g[i] = std::cos(static_cast<float>(3 * i));
        p2[i] = p[i];
    }
    AdamWStep step;
    step.learningRate = 1e-2;
    step.weightDecay = 0.1;
    step.gradientScale = 0.5;
    for (step.step = 1; step.step <= 5; ++step.step) {
        adamW(adamWConstants(step), p, g, m, v);
        for (std::size_t i = 0; i < n; ++i) {
            const double gradient = 0.5 * static_cast<double>(g[i]);
            m2[i] = 0.9 * m2[i] + 0.1 * gradient;
            v2[i] = 0.95 * v2[i] + 0.05 * gradient * gradient;
            const double count = static_cast<double>(step.step);
            const double mHat = m2[i] / (1 - std::pow(0.9, count));
            const double vHat = v2[i] / (1 - std::pow(0.95, count));
            p2[i] = p2[i] * (1 - 1e-2 * 0.1) - 1e-2 * mHat / (std::sqrt(vHat) + 1e-8);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(static_cast<double>(p[i]), p2[i], 1e-5) << i;
    }
}

TEST(SumOfSquares, IsExactForSmallIntegers) {
    std::vector<float> values;
    double expected = 0;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_DOUBLE_EQ(sumOfSquares(values), expected);
        values.push_back(static_cast<float>(i));
        expected += static_cast<double>(i) * i;
    }
}

}  // namespace
}  // namespace shardscope::kernels
