
#include "engine/comm/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace shardscope::comm {
namespace {

/// From the definition of binary16.
double valueOfFloat16(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

TEST(Float16, WidensEveryValueAndRoundsItBack) {
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
        const auto bits = static_cast<std::uint16_t>(half);
        const float wide = Float16::widen(bits);
        if ((half & 0x7c00) == 0x7c00) {
            EXPECT_EQ(std::isnan(wide), (half & 0x3ff) != 0);
            EXPECT_EQ(std::isinf(wide), (half & 0x3ff) == 0);
            if (std::isnan(wide)) continue;
        } else {
            ASSERT_EQ(static_cast<double>(wide), valueOfFloat16(bits)) << half;
        }
        ASSERT_EQ(std::signbit(wide), (half & 0x8000) != 0);
        ASSERT_EQ(Float16::round(wide), bits) << half;
    }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
    for (std::uint32_t half = 0; half < 0x7bff; ++half) {
        const auto lower = static_cast<std::uint16_t>(half);
        const auto upper = static_cast<std::uint16_t>(half + 1);
        const float a = Float16::widen(lower), b = Float16::widen(upper);
        const float middle = a + (b - a) / 2;  // exact in fp32
        ASSERT_EQ(Float16::round(middle), half % 2 == 0 ? lower : upper) << half;
        ASSERT_EQ(Float16::round(std::nextafter(middle, a)), lower) << half;
        ASSERT_EQ(Float16::round(-std::nextafter(middle, b)), upper | 0x8000) << half;
    }
    EXPECT_EQ(Float16::round(65519.9F), 0x7bff);
    EXPECT_EQ(Float16::round(65520.0F), 0x7c00);
    EXPECT_EQ(Float16::round(1e-9F), 0);
}

TEST(BFloat16, WidensAndRoundsToTheNearestAndTiesToEven) {
    for (std::uint32_t half = 0; half < 0x7f7f; ++half) {
        const auto lower = static_cast<std::uint16_t>(half);
        const auto middle = std::bit_cast<float>(half << 16 | 0x8000U);
        ASSERT_EQ(BFloat16::round(BFloat16::widen(lower)), lower);
        ASSERT_EQ(BFloat16::round(middle), half % 2 == 0 ? half : half + 1);
        ASSERT_EQ(BFloat16::round(std::nextafter(middle, 0.0F)), lower);
    }
    EXPECT_TRUE(std::isnan(BFloat16::widen(BFloat16::round(std::nanf("")))));
    // A NaN whose upper half alone would be infinity.
    EXPECT_TRUE(std::isnan(BFloat16::widen(BFloat16::round(std::bit_cast<float>(0x7f800001U)))));
    EXPECT_TRUE(std::isinf(BFloat16::widen(BFloat16::round(std::numeric_limits<float>::max()))));
}

/// Sums in rank order in fp32 and one rounding, whatever the vector code does.
TEST(SumSources, IsTheScalarSumInEveryTypeAndAtEveryLength) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-4, 4);
    for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16}) {
        for (const std::size_t rows : {1U, 2U, 3U, 5U}) {
            for (const std::size_t n : {1U, 7U, 64U, 2047U, 5000U}) {
                std::vector<std::vector<float>> wide(rows, std::vector<float>(n));
                std::vector<std::vector<std::uint16_t>> halves(rows, std::vector<std::uint16_t>(n));
                std::vector<const void*> sources;
                for (std::size_t r = 0; r < rows; ++r) {
                    for (std::size_t i = 0; i < n; ++i) {
                        float& value = wide[r][i] = uniform(random);
                        if (dtype == DataType::kFloat32) continue;
                        const bool bf16 = dtype == DataType::kBFloat16;
                        halves[r][i] = bf16 ? BFloat16::round(value) : Float16::round(value);
                        value = bf16 ? BFloat16::widen(halves[r][i]) : Float16::widen(halves[r][i]);
                    }
                    sources.push_back(dtype == DataType::kFloat32
                                          ? static_cast<const void*>(wide[r].data())
                                          : halves[r].data());
                }
                std::vector<float> out(n, 0.125F), added(n, 0.125F);
                sumSources(sources, dtype, out.data(), n, false);
                sumSources(sources, dtype, added.data(), n, true);
                std::vector<std::uint16_t> rounded(2 * n);
                sumSourcesRounded(sources, dtype, rounded.data(), n);
                for (std::size_t i = 0; i < n; ++i) {
                    float sum = wide[0][i];
                    for (std::size_t r = 1; r < rows; ++r) sum += wide[r][i];
                    ASSERT_EQ(out[i], sum);
                    ASSERT_EQ(added[i], 0.125F + sum);
                    if (dtype == DataType::kBFloat16) {
                        ASSERT_EQ(rounded[i], BFloat16::round(sum));
                    } else if (dtype == DataType::kFloat16) {
                        ASSERT_EQ(rounded[i], Float16::round(sum));
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace shardscope::comm
