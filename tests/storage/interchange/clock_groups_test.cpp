#include "storage/interchange/clock_groups.h"

#include <gtest/gtest.h>

namespace shardscope::interchange {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
using Spans = std::vector<std::optional<InputSpan>>;

std::vector<std::size_t> groupsOf(const Spans& spans) {
    return clockGroups(spans).of;
}
using Groups = std::vector<std::size_t>;

TEST(ClockGroups, WhatOverlapsOrIsNearIsOfOneClock) {
    EXPECT_EQ(groupsOf({InputSpan{0, kSecond}, InputSpan{kSecond / 2, 2 * kSecond}}),
              (Groups{0, 0}));
    EXPECT_EQ(groupsOf({InputSpan{0, 1}, InputSpan{kMinute, kMinute + 1}}), (Groups{0, 0}));
    EXPECT_EQ(groupsOf({InputSpan{0, 1}, InputSpan{kMinute + 2, kMinute + 3}}), (Groups{0, 1}));
}

TEST(ClockGroups, NoFurtherApartThanTheLongerIsLong) {
    EXPECT_EQ(groupsOf({InputSpan{0, kHour}, InputSpan{2 * kHour, 2 * kHour + 1}}), (Groups{0, 0}));
    EXPECT_EQ(groupsOf({InputSpan{0, kHour}, InputSpan{2 * kHour + 1, 2 * kHour + 2}}),
              (Groups{0, 1}));
}

TEST(ClockGroups, AStatedDistanceIsTrueForLonger) {
    const auto apart = [](bool one, bool other, std::int64_t gap) {
        return !clockGroups({InputSpan{0, 0, one}, InputSpan{gap, gap, other}}).areOne();
    };
    EXPECT_FALSE(apart(true, true, kHour));
    EXPECT_TRUE(apart(true, true, kHour + 1));
    EXPECT_TRUE(apart(true, false, kHour));
    EXPECT_TRUE(apart(false, true, kHour));
}

TEST(ClockGroups, EveryGroupHasItsZeroWhateverTheOrder) {
    const ClockGroups groups =
        clockGroups({InputSpan{5 * kHour, 5 * kHour + 9}, std::nullopt, InputSpan{10, 20},
                     InputSpan{5, 7}, InputSpan{5 * kHour - 4, 5 * kHour}});
    EXPECT_EQ(groups.of, (Groups{1, 2, 0, 0, 1}));
    EXPECT_EQ(groups.zeroOf, (std::vector<std::optional<std::int64_t>>{5 * kHour - 4, std::nullopt,
                                                                       5, 5, 5 * kHour - 4}));
    EXPECT_EQ(groups.firstOf, (Groups{3, 4, 1}));
    EXPECT_FALSE(groups.areOne());
    EXPECT_TRUE(clockGroups({}).areOne());
    EXPECT_TRUE(clockGroups({std::nullopt}).areOne());
}

TEST(ClockGroups, TheSentenceNamesOneOfEachAndTheDistance) {
    const std::vector<std::string> names{"a", "b", "c", "d", "e"};
    Spans spans{InputSpan{0, 1}, InputSpan{kHour * 3, kHour * 3}};
    EXPECT_EQ(clocksShareNoStart(clockGroups(spans), names),
              "a and b lie 3 h apart: their clocks share no start, so each begins at 0");
    spans = {InputSpan{0, 1}, std::nullopt};
    EXPECT_EQ(clocksShareNoStart(clockGroups(spans), names),
              "a and b have times that cannot be set against one another: their clocks share no "
              "start, so each begins at 0");
    spans.clear();
    for (std::int64_t i = 0; i < 5; ++i) spans.push_back(InputSpan{i * kHour * 72, i * kHour * 72});
    EXPECT_EQ(clocksShareNoStart(clockGroups(spans), names),
              "a, b, c and 2 more lie 3 days apart: their clocks share no start, so each begins "
              "at 0");
}

}  // namespace
}  // namespace shardscope::interchange
