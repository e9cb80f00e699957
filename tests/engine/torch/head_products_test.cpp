// Products over a vocabulary whose rows of logits have gaps, as on a GPU, against whole ones.
#include "engine/kernels/head_products.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace shardscope::kernels {
namespace {

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
