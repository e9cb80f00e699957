// The GPU's softmax cross entropy against the head that CPU ranks use.
#include "engine/kernels/cross_entropy.h"
#include "engine/kernels/operator_scope.h"
#include "tests/support/cuda_emulation.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace shardscope::kernels {
namespace {

/// `last`: what two ways to round a gradient of at most a quarter may be apart.
void compare(at::ScalarType type, std::int64_t width, double last) {
    SCOPED_TRACE(::testing::Message() << width << " wide, " << at::toString(type));
    constexpr double kScale = 0.25;
    constexpr std::int64_t kRows = 5;
    const at::Tensor logits = (at::randn({kRows, width}) * 4).to(type);
    const at::Tensor targets = at::randint(0, width, {kRows}, at::kLong);

    // Behind the identity the head's input is its logits, and so are their gradients.
    Parameter identity;
    identity.value = at::eye(width).to(type);
    identity.gradient = at::empty_like(identity.value);
    const at::Tensor expected = at::empty_like(logits);
    const at::Tensor expectedLoss = at::zeros({}, at::kDouble);
    linearCrossEntropy(logits, identity, targets, kScale, expected, expectedLoss);

    const at::Tensor found = logits.clone();
    double loss = 0;
    device::kTable.softmaxCrossEntropy(
        {dataTypeOf(type), kRows, width, width, found.mutable_data_ptr()},
        targets.const_data_ptr<std::int64_t>(), static_cast<float>(kScale), true, &loss, nullptr);
    EXPECT_NEAR(loss, expectedLoss.item<double>(), 1e-5);
    const at::Tensor difference = (found.to(at::kDouble) - expected.to(at::kDouble)).abs();
    EXPECT_LT(difference.max().item<double>(), last);
}

TEST(CudaCrossEntropyTwin, GivesTheLossAndGradientOfCpuRanks) {
    at::manual_seed(3);
    for (std::int64_t width : {2, 33, 257}) {
        compare(at::kFloat, width, 1e-6);
        compare(at::kBFloat16, width, 0x1p-9);
        compare(at::kHalf, width, 0x1p-12);
    }
}

}  // namespace
}  // namespace shardscope::kernels
