// What fp16 needs of the operators: gradients scaled with the loss, unscaled by the optimizer, and
// the sign of one that overflowed.
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/shard_update.h"
#include "tests/engine/torch/applied_update.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardscope::kernels {
namespace {

ShardState shardOf(const at::Tensor& parameter, const at::Tensor& gradient) {
    ShardState shard;
    shard.parameter = parameter.clone();
    shard.compute = shard.parameter;
    shard.gradient = gradient;
    shard.firstMoment = at::zeros_like(parameter);
    shard.secondMoment = at::zeros_like(parameter);
    return shard;
}

double squaredNorm(const at::Tensor& gradient) {
    const at::Tensor total = at::zeros({}, at::kDouble);
    addSquaredNorm(gradient, total);
    return total.item<double>();
}

// Unscaling takes no pass of its own: AdamW multiplies gradients by its clipping factor anyway.
TEST(LossScale, IsUndoneInTheOptimizersOwnPass) {
    at::manual_seed(2);
    const at::Tensor parameter = at::randn({1003}), gradient = at::randn({1003});
    constexpr double kLossScale = 4096;
    const ShardState plain = shardOf(parameter, gradient);
    const ShardState scaled = shardOf(parameter, gradient * kLossScale);
    EXPECT_DOUBLE_EQ(squaredNorm(scaled.gradient),
                     squaredNorm(plain.gradient) * kLossScale * kLossScale);
    AdamWStep step;
    step.learningRate = 1e-2;
    step.gradientScale = 0.3;
    StepUpdate update = test::appliedUpdate(step);
    updateShard(&update, 500, plain);
    step.gradientScale = 0.3 / kLossScale;
    update = test::appliedUpdate(step);
    updateShard(&update, 500, scaled);
    // A power of two: nothing is rounded differently.
    EXPECT_TRUE(at::equal(scaled.parameter, plain.parameter));
    EXPECT_TRUE(at::equal(scaled.secondMoment, plain.secondMoment));
}

TEST(LossScale, ANormThatIsNotFiniteHasMetAGradientThatIsNot) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
        for (const std::int64_t place : {0, 17, 98}) {
            at::Tensor gradient = at::ones({99});
            gradient[place] = bad;
            EXPECT_FALSE(std::isfinite(squaredNorm(gradient)));
        }
    }
    // The largest ones that are finite do not look like one.
    const at::Tensor largest = at::full({99}, std::numeric_limits<float>::max());
    EXPECT_TRUE(std::isfinite(squaredNorm(largest)));
}

struct HeadResult {
    at::Tensor dx, dWeight;
    double loss = 0;
};

HeadResult head(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                double scale) {
    Parameter parameter;
    parameter.shape = weight.sizes().vec();
    parameter.value = weight;
    parameter.gradient = at::zeros(weight.sizes());
    HeadResult result;
    result.dx = at::empty_like(x);
    const at::Tensor loss = at::zeros({}, at::kDouble);
    linearCrossEntropy(x, parameter, targets, scale, result.dx, loss);
    result.dWeight = parameter.gradient;
    result.loss = loss.item<double>();
    return result;
}

TEST(LossScale, KeepsTheHeadsSmallGradientsInFp16) {
    at::manual_seed(2);
    useMatmulLibrary(MatmulLibrary::kMkl);
    const std::int64_t rows = 16, hidden = 24, vocabulary = 4000;
    const at::Tensor x = at::randn({rows, hidden}).to(at::kHalf);
    const at::Tensor weight = (at::randn({vocabulary, hidden}) * 0.05).to(at::kHalf);
    const at::Tensor targets = at::randint(0, vocabulary, {rows}, at::kLong);
    const double mean = 1.0 / (8192.0 * 64);  // of half a million tokens: p / mean is 5e-10
    const HeadResult exact = head(x.to(at::kFloat), weight.to(at::kFloat), targets, mean);
    const auto error = [&](const HeadResult& found, double scale) {
        return ((found.dWeight / scale - exact.dWeight).norm() / exact.dWeight.norm())
            .item<double>();
    };
    const HeadResult scaled = head(x, weight, targets, 65'536 * mean);
    EXPECT_NEAR(scaled.loss / exact.loss, 1.0, 1e-3);
    EXPECT_LT(error(scaled, 65'536), 5e-3);
    // Without the scale nearly all of them vanish in fp16.
    EXPECT_GT(error(head(x, weight, targets, mean), 1.0), 1e-2);
}

TEST(LossScale, OverflowOfTheHeadsGradientsIsInfiniteNotWrong) {
    at::manual_seed(2);
    const at::Tensor x = at::randn({4, 8}).to(at::kHalf);
    const at::Tensor weight = at::randn({50, 8}).to(at::kHalf);
    const at::Tensor targets = at::randint(0, 50, {4}, at::kLong);
    EXPECT_TRUE(std::isfinite(squaredNorm(head(x, weight, targets, 100).dWeight)));
    const HeadResult overflown = head(x, weight, targets, 1e6);
    EXPECT_FALSE(std::isfinite(squaredNorm(overflown.dWeight)));
    EXPECT_TRUE(std::isfinite(overflown.loss));
}

TEST(LossScale, TheOptimizerRefreshesAnFp16Copy) {
    ShardState shard = shardOf(at::randn({100}), at::ones({100}));
    shard.compute = at::zeros({100}, at::kHalf);
    AdamWStep step;
    step.learningRate = 0.1;
    const StepUpdate update = test::appliedUpdate(step);
    updateShard(&update, 37, shard);
    EXPECT_TRUE(at::equal(shard.compute, shard.parameter.to(at::kHalf)));
}

TEST(Slowdown, IsMeasuredForBothHalfPrecisions) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
        const Slowdown slowdown = slowdownOf(type, 16, 32);
        EXPECT_GT(slowdown.native, 0);
        EXPECT_GT(slowdown.widened, 0);
    }
}

}  // namespace
}  // namespace shardscope::kernels
