#include "app/desktop/models/format.h"

#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/text_label.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

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

TEST(Format, WhatOneWaitsForIsInMinutesAndHours) {
    EXPECT_EQ(formatLongTime(Duration{42'400'000'000}), u"42 s"_s);
    EXPECT_EQ(formatLongTime(Duration{621'000'000'000}), u"10 min 21 s"_s);
    EXPECT_EQ(formatLongTime(Duration{7'500'000'000'000}), u"2 h 5 min"_s);
}

TEST(AxisTicks, AreTwoAtLeastWhereThereIsARange) {
    for (const auto& [low, high] : {std::pair(5.2, 6.9), {0.95, 1.06}, {3.4, 5.5}, {0.0, 0.7}})
        EXPECT_GE(axisTicks({low, high}, 2).size(), 2u) << low << " to " << high;
    EXPECT_TRUE(axisTicks({5, 5}, 3).size() < 2);
}

TEST(AxisTicks, OfPowersOfTenHaveNoMoreDigitsThanTheyNeed) {
    const AxisRange range{0.005, 2000, true};
    const auto ticks = axisTicks(range, 6);
    QStringList texts;
    for (const double tick : ticks) texts << axisTickText(range, ticks, tick);
    EXPECT_EQ(texts, (QStringList{u"0.01"_s, u"0.1"_s, u"1"_s, u"10"_s, u"100"_s, u"1,000"_s}))
        << texts.join(u' ').toStdString();
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

TEST(Breakable, BreaksLongNamesAndNoNumbers) {
    EXPECT_EQ(breakable(u"a::b<c,d>"_s), u"a:\u200B:\u200Bb<\u200Bc,\u200Bd>"_s);
    EXPECT_EQ(breakable(u"of 40,573 events, all"_s), u"of 40,573 events,\u200B all"_s);
    EXPECT_EQ(breakable(u"17:05"_s), u"17:05"_s);
}

TEST(Unbroken, KeepsRangesOfNumbersTogether) {
    EXPECT_EQ(unbroken(u"steps 0–39."_s), u"steps 0–\u206039."_s);
    EXPECT_EQ(unbroken(u"0.1 s – 0.9 s"_s), u"0.1 s – 0.9 s"_s);
    EXPECT_EQ(unbroken(u"–1"_s), u"–1"_s);
}

TEST(SpreadWords, LeavesThoseThatHaveRoom) {
    std::vector<WordPlace> words{{10, 20}, {60, 20}};
    spreadWords(words, 0, 100);
    EXPECT_EQ(words[0].left, 10);
    EXPECT_EQ(words[1].left, 60);
}

TEST(SpreadWords, PushesTheFirstBackWhereTheLastWouldLeave) {
    std::vector<WordPlace> words{{50, 40}, {80, 40}};
    spreadWords(words, 0, 100);
    EXPECT_EQ(words[0].left, 12);
    EXPECT_EQ(words[1].right(), 100);
}

TEST(SpreadWords, NeverOverlapsNorLeavesTheLine) {
    std::mt19937 random(7);
    for (int round = 0; round < 2'000; ++round) {
        std::uniform_real_distribution<double> at(-20, 220), wide(5, 80);
        std::vector<double> marks(random() % 5);
        for (double& mark : marks) mark = at(random);
        std::sort(marks.begin(), marks.end());
        std::vector<WordPlace> words;
        for (const double mark : marks) {
            const double width = wide(random);
            words.push_back({mark - width / 2, width});
        }
        const auto before = words;
        spreadWords(words, 0, 200);
        ASSERT_LE(words.size(), before.size());
        double needed = -8;
        for (const WordPlace& word : before) needed += word.width + 8;
        ASSERT_TRUE(needed > 200 || words.size() == before.size());
        double free = 0;
        for (const WordPlace& word : words) {
            ASSERT_GE(word.left, free - 1e-9);
            free = word.right() + 8;
            ASSERT_LE(word.right(), 200 + 1e-9);
        }
    }
}

}  // namespace
}  // namespace shardscope::desktop
