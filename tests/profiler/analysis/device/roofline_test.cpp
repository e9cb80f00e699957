// FLOPs, least bytes and roofs of matrix products.
#include "profiler/analysis/device/roofline.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

Product product(ProductType type, std::int64_t batch = 1) {
    Product made;
    made.batch = batch;
    made.m = 128;
    made.k = 64;
    made.n = 256;
    made.type = type;
    return made;
}

TEST(Roofline, CountsAMultiplicationAndAnAdditionEach) {
    EXPECT_EQ(flopsOf(product(ProductType::kFloat)), 2.0 * 128 * 64 * 256);
    EXPECT_EQ(flopsOf(product(ProductType::kFloat, 8)), 8 * 2.0 * 128 * 64 * 256);
}

TEST(Roofline, MovesInputsAndOutputOnceAtLeast) {
    constexpr double kElements = 128 * 64 + 64 * 256 + 128 * 256;
    EXPECT_EQ(bytesOf(product(ProductType::kFloat)), 4 * kElements);
    EXPECT_EQ(bytesOf(product(ProductType::kBFloat, 3)), 3 * 2 * kElements);
    EXPECT_EQ(bytesOf(product(ProductType::kFloat8)), kElements);
}

TEST(Roofline, DoesNotGuess) {
    EXPECT_FALSE(bytesOf(product(ProductType::kUnknown)));
    Product convolution = product(ProductType::kHalf);
    convolution.convolution = true;
    EXPECT_FALSE(flopsOf(convolution));
    EXPECT_FALSE(bytesOf(convolution));
}

TEST(Roofline, IsTheLowerOfBothRoofs) {
    EXPECT_EQ(roofAt(10, 1e12, 1e10), 1e11);
    EXPECT_EQ(roofAt(1000, 1e12, 1e10), 1e12);
    EXPECT_EQ(roofAt(10, 1e12, std::nullopt), 1e12);
}

}  // namespace
}  // namespace shardscope::analysis
