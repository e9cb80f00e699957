// Products of bf16 and fp16 that are taken in fp32, against double.

#include "engine/kernels/matmul.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <tuple>

namespace shardscope::kernels {
namespace {

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

}  // namespace
}  // namespace shardscope::kernels
