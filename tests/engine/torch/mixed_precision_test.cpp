// What runs in bf16, and what a GPU takes instead of the CPU's own kernels, against fp32 twins.
#include "engine/kernels/attention.h"
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/embedding.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/norm.h"
#include "engine/kernels/shard_update.h"
#include "tests/engine/torch/applied_update.h"

#include <ATen/ATen.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <tuple>

namespace shardscope::kernels {
namespace {

/// Of bf16's seven bits of fraction, over a sum.
constexpr double kBf16 = 1.0 / 64;

double distance(const at::Tensor& value, const at::Tensor& expected) {
    const at::Tensor wanted = expected.to(at::kDouble);
    return ((value.to(at::kDouble) - wanted).norm() / wanted.norm()).item<double>();
}

at::Tensor halved(const at::Tensor& t) {
    return t.to(at::kBFloat16);
}

Parameter parameterOf(const at::Tensor& value, at::ScalarType gradient) {
    Parameter parameter;
    parameter.shape = value.sizes().vec();
    parameter.value = value;
    parameter.gradient = at::zeros(value.sizes(), gradient);
    return parameter;
}

class MixedPrecision : public testing::Test {
protected:
    MixedPrecision() {
        at::manual_seed(3);
        useMatmulLibrary(MatmulLibrary::kMkl);
        useAttention(AttentionKind::kFlash);
    }
};

TEST_F(MixedPrecision, ProductsOfBf16AreKeptInFp32) {
    const at::Tensor a = at::randn({17, 33}), b = at::randn({33, 9});
    const at::Tensor out = at::ones({17, 9});
    matmul(halved(a), halved(b), out, true);
    EXPECT_LT(distance(out, at::mm(a, b) + 1), kBf16);
    matmul(halved(a), halved(b), out);
    EXPECT_LT(distance(out, at::mm(a, b)), kBf16);
    EXPECT_EQ(out.scalar_type(), at::kFloat);
}

TEST_F(MixedPrecision, LinearAndNormWriteFp32Gradients) {
    const at::Tensor x = at::randn({24, 16}), weight = at::randn({8, 16});
    for (const at::ScalarType gradientType : {at::kFloat, at::kBFloat16}) {
        Parameter whole = parameterOf(weight, at::kFloat);
        Parameter half = parameterOf(halved(weight), gradientType);
        Parameter scale = parameterOf(halved(at::rand({16})), gradientType);
        Parameter shift = parameterOf(halved(at::rand({16})), gradientType);
        const at::Tensor in = x.clone().set_requires_grad(true);
        const at::Tensor inHalf = halved(x).set_requires_grad(true);
        linear(in, whole).sum().backward();
        linear(inHalf, half).sum().backward();
        EXPECT_LT(distance(half.gradient, whole.gradient), kBf16);
        EXPECT_LT(distance(inHalf.grad(), in.grad()), kBf16);
        EXPECT_EQ(half.gradient.scalar_type(), gradientType);
        normalise(halved(x).set_requires_grad(true), {&scale, &shift}).value.sum().backward();
        EXPECT_LT(distance(shift.gradient, at::full({16}, 24.0)), kBf16);
    }
}

TEST_F(MixedPrecision, TheDispatchedAttentionIsTheSame) {
    const at::Tensor qkv = at::randn({2 * 40, 3 * 16});
    const at::Tensor own = qkv.clone().set_requires_grad(true);
    const at::Tensor dispatched = qkv.clone().set_requires_grad(true);
    const at::Tensor a = causalAttention(own, 2, 4);
    const at::Tensor b = dispatchedAttention(dispatched, 2, 4);
    EXPECT_LT(distance(b, a), 1e-5);
    const at::Tensor up = at::randn(a.sizes());
    a.backward(up);
    b.backward(up);
    EXPECT_LT(distance(dispatched.grad(), own.grad()), 1e-5);
    EXPECT_LT(distance(causalAttention(halved(qkv), 2, 4), a.detach()), 2 * kBf16);
}

TEST_F(MixedPrecision, SaysWhichAttentionLibTorchTakes) {
    useDeviceAttention(DeviceAttention::kCudnn);
    const std::string word = deviceAttentionInUse(at::randn({2 * 40, 3 * 16}), 2, 4);
    EXPECT_EQ(word, "flash");  // on a CPU there is this one
}

TEST_F(MixedPrecision, EmbeddingsAgreeWithTheCpusOwnLoops) {
    const at::Tensor tokens = at::randint(0, 30, {3, 12}, at::kLong);
    const at::Tensor wte = at::randn({30, 8}), wpe = at::randn({16, 8});
    EXPECT_LT(distance(embed(halved(wte), halved(wpe), tokens), embed(wte, wpe, tokens)), kBf16);
    const at::Tensor dx = at::randn({36, 8});
    at::Tensor dTokens = at::ones({30, 8}), dPositions = at::ones({16, 8});
    addGradients(tokens, 0, dx, dTokens, dPositions);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        at::Tensor half = at::ones({30, 8}, type), halfPositions = at::ones({16, 8}, type);
        addGradients(tokens, 0, halved(dx), half, halfPositions);
        EXPECT_LT(distance(half, dTokens), kBf16);
        EXPECT_LT(distance(halfPositions, dPositions), kBf16);
    }
}

TEST_F(MixedPrecision, TheHeadSumsItsChunksInFp32) {
    // 2^21 logits at a time: 40 rows of 60,000 are two chunks.
    const std::int64_t rows = 40, width = 60'000;
    const at::Tensor x = at::randn({rows, 4});
    const at::Tensor weight = at::randn({width, 4}) * 0.1;
    const at::Tensor targets = at::randint(0, width, {rows}, at::kLong);
    const auto run = [&](const at::Tensor& input, Parameter& parameter) {
        const at::Tensor loss = at::zeros({}, at::kDouble);
        const at::Tensor dx = at::empty_like(input);
        linearCrossEntropy(input, parameter, targets, 1.0 / rows, dx, loss);
        return std::pair(loss.item<double>(), dx);
    };
    Parameter whole = parameterOf(weight, at::kFloat);
    const auto [expected, expectedDx] = run(x, whole);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (const bool accumulate : {false, true}) {
            Parameter half = parameterOf(halved(weight), type);
            half.accumulate = accumulate;
            half.gradient.fill_(accumulate ? 0.0 : 7.0);
            const auto [loss, dx] = run(halved(x), half);
            EXPECT_NEAR(loss / expected, 1.0, 1e-3);
            EXPECT_LT(distance(dx, expectedDx), 2 * kBf16);
            EXPECT_LT(distance(half.gradient, whole.gradient), 2 * kBf16);
        }
    }
}

TEST_F(MixedPrecision, TheOptimizerRefreshesTheCopyThatIsComputedWith) {
    ShardState whole, copied;
    whole.parameter = at::randn({100});
    copied.parameter = whole.parameter.clone();
    for (ShardState* shard : {&whole, &copied}) {
        shard->gradient = at::ones({100});
        shard->firstMoment = at::zeros({100});
        shard->secondMoment = at::zeros({100});
        shard->compute = shard->parameter;
    }
    copied.compute = at::zeros({100}, at::kBFloat16);
    AdamWStep step;
    step.learningRate = 0.1;
    step.weightDecay = 0.5;
    const StepUpdate update = test::appliedUpdate(step);
    updateShard(&update, 37, whole);
    updateShard(&update, 37, copied);
    EXPECT_TRUE(at::equal(whole.parameter, copied.parameter));
    EXPECT_TRUE(at::equal(copied.compute, halved(copied.parameter)));
    const at::Tensor norm = at::zeros({}, at::kDouble);
    addSquaredNorm(whole.gradient, norm);
    addSquaredNorm(whole.gradient, norm);
    EXPECT_DOUBLE_EQ(norm.item<double>(), 200.0);
}

// Products of bf16 and fp16 that are taken in fp32, against double.

struct Shape {
    std::int64_t m, k, n;
};

class WidenedProduct
    : public ::testing::TestWithParam<std::tuple<Shape, at::ScalarType, at::ScalarType>> {
protected:
    /// (rows, columns), stored by columns where `transposed`.
    static at::Tensor operand(std::int64_t rows, std::int64_t columns, bool transposed) {
        const at::Tensor made =
            transposed ? at::randn({columns, rows}).t() : at::randn({rows, columns});
        return made.to(std::get<1>(GetParam()));
    }
};

TEST_P(WidenedProduct, IsRoundedOnce) {
    const auto [shape, type, result] = GetParam();
    // Of the type's last place, and of an fp32 sum.
    const double relative = result == at::kFloat ? 1e-5 : result == at::kHalf ? 1e-3 : 8e-3;
    for (const bool left : {false, true})
        for (const bool right : {false, true})
            for (const bool accumulate : {false, true}) {
                const at::Tensor a = operand(shape.m, shape.k, left);
                const at::Tensor b = operand(shape.k, shape.n, right);
                const at::Tensor before = at::randn({shape.m, shape.n}).to(result);
                const at::Tensor out = before.clone();
                widenedProduct(a, b, out, accumulate);
                at::Tensor wanted = at::matmul(a.to(at::kDouble), b.to(at::kDouble));
                if (accumulate) wanted += before.to(at::kDouble);
                EXPECT_TRUE(at::allclose(out.to(at::kDouble), wanted, relative, 1e-4))
                    << shape.m << ' ' << left << right << accumulate;
            }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WidenedProduct,
    ::testing::Combine(::testing::Values(Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{256, 512, 512},
                                         Shape{257, 513, 514}, Shape{300, 1100, 40}),
                       ::testing::Values(at::kBFloat16, at::kHalf),
                       ::testing::Values(at::kFloat, at::kBFloat16, at::kHalf)));

TEST(NarrowProducts, TakeTheWayThatWasChosen) {
    const at::Tensor a = at::randn({8, 8}).to(at::kBFloat16);
    const at::Tensor whole = at::zeros({8, 8});
    useNarrowProducts(NarrowProducts::kWidened);
    matmul(a, a, whole);
    useNarrowProducts(NarrowProducts::kNative);
    // Widened, an fp32 result is not rounded to bf16 on its way.
    EXPECT_FALSE(at::allclose(whole, whole.to(at::kBFloat16).to(at::kFloat), 1e-5, 0));
    EXPECT_EQ((Slowdown{9, 2}).faster(), NarrowProducts::kWidened);
    EXPECT_EQ((Slowdown{0.3, 1.1}).faster(), NarrowProducts::kNative);
}

// Products over a vocabulary whose rows of logits have gaps, as on a GPU, against whole ones.

/// Rows of `width` that lie `stride` apart; the gaps hold what must not be read.
at::Tensor withGaps(std::int64_t rows, std::int64_t width, std::int64_t stride) {
    return at::full({rows, stride}, NAN).narrow(1, 0, width);
}

class HeadProducts : public ::testing::TestWithParam<std::int64_t> {
protected:
    HeadProducts() { at::manual_seed(3); }

    const std::int64_t width = GetParam();
    const at::Tensor x = at::randn({5, 16}), weight = at::randn({width, 16});
    const at::Tensor d = withGaps(5, width, 192);
};

TEST_P(HeadProducts, GiveLogitsAndLeaveTheGaps) {
    const at::Tensor whole = at::full({5, 192}, 7.0F), logits = whole.narrow(1, 0, width);
    productOfLogits(x, weight, logits);
    EXPECT_TRUE(at::allclose(logits, at::mm(x, weight.t()), 1e-5, 1e-5));
    EXPECT_TRUE(whole.narrow(1, width, 192 - width).eq(7).all().item<bool>());
}

TEST_P(HeadProducts, GiveAndAddGradients) {
    d.copy_(at::randn({5, width}));
    const at::Tensor plain = d.contiguous();
    for (const bool accumulate : {false, true}) {
        const at::Tensor dx = at::ones({5, 16}), dWeight = at::ones({width, 16});
        productOfInputs(d, weight, dx, accumulate);
        productOfWeights(d, x, dWeight, accumulate);
        const double before = accumulate ? 1 : 0;
        EXPECT_TRUE(at::allclose(dx, at::mm(plain, weight) + before, 1e-5, 1e-5));
        EXPECT_TRUE(at::allclose(dWeight, at::mm(plain.t(), x) + before, 1e-5, 1e-5));
    }
}

/// Aligned columns and some behind, fewer than one alignment, and no gaps but those of the stride.
INSTANTIATE_TEST_SUITE_P(Widths, HeadProducts, ::testing::Values(1, 13, 64, 77, 128, 191));

}  // namespace
}  // namespace shardscope::kernels
