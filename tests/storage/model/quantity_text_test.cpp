#include "storage/model/quantity_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardscope {
namespace {

std::string text(double value, Unit unit) {
    return quantityText(value, unit).joined();
}

std::string screen(double value, Unit unit) {
    return quantityText(value, unit, Digits::kScreen).joined();
}

TEST(QuantityText, BytesAreBinaryAndFollowTheirSize) {
    EXPECT_EQ(bytesText({0}), "0 B");
    EXPECT_EQ(bytesText({1023}), "1023 B");
    EXPECT_EQ(bytesText({1536}), "1.5 KiB");
    EXPECT_EQ(bytesText({200LL << 30}), "200.0 GiB");
    EXPECT_EQ(bytesText({-3LL << 40}), "-3.0 TiB");
    EXPECT_EQ(screen(200.0 * (1LL << 30), Unit::kBytes), "200 GiB");
    EXPECT_EQ(screen(0, Unit::kBytes), "0 MiB");
}

TEST(QuantityText, DurationsFollowTheirSize) {
    EXPECT_EQ(durationText({850}), "850 ns");
    EXPECT_EQ(durationText({12'340}), "12.3 µs");
    EXPECT_EQ(durationText({4'560'000}), "4.56 ms");
    EXPECT_EQ(durationText({61'500'000'000}), "61.50 s");
    EXPECT_EQ(text(4'560, Unit::kMicroseconds), "4.56 ms");
    EXPECT_EQ(screen(12'100'000, Unit::kNanoseconds), "12.1 ms");
}

TEST(QuantityText, RoundingMovesOnToTheNextUnit) {
    EXPECT_EQ(durationText({999'960}), "1.00 ms");
    EXPECT_EQ(screen(999'900'000, Unit::kNanoseconds), "1.00 s");
    EXPECT_EQ(bytesText({(1LL << 20) - 1}), "1.0 MiB");
    EXPECT_EQ(sizeText({999'600}), "1 MB");
}

TEST(QuantityText, DifferencesHaveTheirSign) {
    EXPECT_EQ(text(0, Unit::kSignedNanoseconds), "+0 ns");
    EXPECT_EQ(text(-1'500, Unit::kSignedNanoseconds), "-1.5 µs");
    EXPECT_EQ(text(2048, Unit::kSignedBytes), "+2.0 KiB");
    EXPECT_EQ(screen(0, Unit::kSignedBytes), "0 MiB");
    EXPECT_EQ(text(18.6, Unit::kChange), "+18.60 %");
    EXPECT_EQ(screen(-3.14, Unit::kChange), "-3.1 %");
    EXPECT_EQ(screen(0.01, Unit::kChange), "0 %");
}

/// Against a base of next to nothing a percentage is a row of digits.
TEST(QuantityText, WhatHasGrownManyTimesIsAFactor) {
    EXPECT_EQ(text(1000, Unit::kChange), "+1000.00 %");
    EXPECT_EQ(text(1130, Unit::kChange), "x 12.3");
    EXPECT_EQ(screen(1130, Unit::kChange), "x 12.3");
    EXPECT_EQ(text(99'900, Unit::kChange), "x 1,000");
    EXPECT_EQ(screen(803'477'003.0, Unit::kChange), "> x 1,000");
    EXPECT_EQ(screen(-100, Unit::kChange), "-100.0 %");
}

TEST(QuantityText, RatesAndWorkHavePrefixes) {
    EXPECT_EQ(text(4.1e10, Unit::kBytesPerSecond), "41.00 GB/s");
    EXPECT_EQ(screen(4.1e10, Unit::kBytesPerSecond), "41.0 GB/s");
    EXPECT_EQ(text(0, Unit::kFlops), "0.00 FLOP/s");
    EXPECT_EQ(text(1.234e6, Unit::kJoules), "1.23 MJ");
    EXPECT_EQ(screen(0.05, Unit::kJoules), "50.0 mJ");
    EXPECT_EQ(text(4588.6, Unit::kTokensPerSecond), "4589 tokens/s");
    EXPECT_EQ(siText(312, "W", Digits::kScreen).joined(), "312 W");
}

TEST(QuantityText, DecimalBytesAreAsDataSheetsHaveThem) {
    EXPECT_EQ(decimalBytesText(26.25e9), "26.25 GB");
    EXPECT_EQ(decimalBytesText(0), "0 B");
    EXPECT_EQ(sizeText({200'000'000}), "200 MB");
    EXPECT_EQ(sizeText({2'400'000'000}), "2.4 GB");
    EXPECT_EQ(sizeText({0}), "0 B");
}

TEST(QuantityText, TheScreenSaysOfLittleThatItIsSome) {
    EXPECT_EQ(screen(1e-4, Unit::kPercent), "< 0.01 %");
    EXPECT_EQ(screen(0.5, Unit::kPercent), "0.50 %");
    EXPECT_EQ(text(83.125, Unit::kOfPeak), "83.12 %");
    EXPECT_EQ(shareText(1, 8), "12.5 %");
    EXPECT_EQ(shareText(1, 0), "–");
}

TEST(QuantityText, SignificantDigitsKeepWholeNumbersWhole) {
    EXPECT_EQ(significantText(2074.2), "2,074");
    EXPECT_EQ(significantText(0.9999), "1.00");
    EXPECT_EQ(significantText(0.01234), "0.0123");
    EXPECT_EQ(significantText(-1.5), "-1.50");
    EXPECT_EQ(significantText(1e-12), "1.00e-12");
    EXPECT_EQ(significantText(std::nan("")), "–");
}

TEST(QuantityText, CountsAreGroupedByThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(10'774'272), "10,774,272");
    EXPECT_EQ(grouped(-100), "-100");
    EXPECT_EQ(grouped(-1'000), "-1,000");
    EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
    EXPECT_EQ(counted(1, "step"), "1 step");
    EXPECT_EQ(counted(1'200U, "step"), "1,200 steps");
}

}  // namespace
}  // namespace shardscope
