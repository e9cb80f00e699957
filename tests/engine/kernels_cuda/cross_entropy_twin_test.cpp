// The GPU's softmax cross entropy against the head that CPU ranks use.
#include "engine/kernels/cross_entropy.h"
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

TEST(CudaCrossEntropyTwin, GivesTheLossAndGradientOfCpuRanks) {
    at::manual_seed(3);
    constexpr double kScale = 0.25;
    for (std::int64_t width : {2, 33, 257}) {
        SCOPED_TRACE(width);
        constexpr std::int64_t kRows = 5;
        const at::Tensor logits = at::randn({kRows, width}) * 4;
        const at::Tensor targets = at::randint(0, width, {kRows}, at::kLong);

        // Behind the identity the head's input is its logits, and so are their gradients.
        Parameter identity;
        identity.value = at::eye(width);
        identity.gradient = at::empty_like(identity.value);
        const at::Tensor expected = at::empty_like(logits);
        const at::Tensor expectedLoss = at::zeros({}, at::kDouble);
        linearCrossEntropy(logits, identity, targets, kScale, expected, expectedLoss);

        const at::Tensor found = logits.clone();
        double loss = 0;
        device::kTable.softmaxCrossEntropy(found.mutable_data_ptr(), DataType::kFloat32, kRows,
                                           width, targets.const_data_ptr<std::int64_t>(),
                                           static_cast<float>(kScale), true, &loss, nullptr);
        EXPECT_NEAR(loss, expectedLoss.item<double>(), 1e-5);
        EXPECT_LT((found - expected).abs().max().item<double>(), 1e-6);
    }
}

}  // namespace
}  // namespace shardscope::kernels
