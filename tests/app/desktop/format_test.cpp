#include "app/desktop/models/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(Format, NumbersHaveThreeSignificantFigures) {
    EXPECT_EQ(formatNumber(2074.2), u"2,074"_s);
    EXPECT_EQ(formatNumber(83.14), u"83.1"_s);
    EXPECT_EQ(formatNumber(0.01234), u"0.0123"_s);
    EXPECT_EQ(formatNumber(0), u"0"_s);
}

TEST(Format, NegativeSignIsTheMinusSign) {
    EXPECT_EQ(formatNumber(-1.5), u"\u22121.50"_s);
    EXPECT_EQ(formatSignedPercent(-0.031), u"\u22123.1\u2009%"_s);
    EXPECT_EQ(formatSignedPercent(0.008), u"+0.8\u2009%"_s);
}

TEST(Format, UnknownNumbersAreADashAndNeverZero) {
    EXPECT_EQ(formatNumber(std::numeric_limits<double>::quiet_NaN()), u"–"_s);
}

TEST(Format, DurationsChooseTheirUnit) {
    EXPECT_EQ(formatDuration({12'100'000}), u"12.1\u2009ms"_s);
    EXPECT_EQ(formatDuration({999'900'000}), u"1.00\u2009s"_s);
    EXPECT_EQ(formatDuration({850}), u"850\u2009ns"_s);
}

TEST(Format, MemoryIsBinary) {
    EXPECT_EQ(formatBytes({312LL << 20}), u"312\u2009MiB"_s);
    EXPECT_EQ(formatBytes({3LL << 29}), u"1.50\u2009GiB"_s);
}

TEST(Format, InstantsShowWhatTheResolutionCanTell) {
    EXPECT_EQ(formatInstant({13'391'204'000}, {1000}), u"13.391204\u2009s"_s);
    EXPECT_EQ(formatInstant({13'391'204'000}, {100'000'000}), u"13.4\u2009s"_s);
}

TEST(Format, TicksHaveTheDecimalsOfTheirStep) {
    EXPECT_EQ(formatTick(5, 5), u"5"_s);
    EXPECT_EQ(formatTick(0.0004, 0.0001), u"0.0004"_s);
    EXPECT_EQ(formatTick(2.5, 0.5), u"2.5"_s);
}

TEST(Format, TinySharesAreNotZero) {
    EXPECT_EQ(formatPercent(1e-6), u"< 0.01\u2009%"_s);
}

}  // namespace
}  // namespace shardscope::desktop
