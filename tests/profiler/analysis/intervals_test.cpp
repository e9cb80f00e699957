#include "profiler/analysis/intervals.h"

#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kTicks = 64;
using Ticks = std::bitset<kTicks>;

Ticks ticksOf(const std::vector<TimeRange>& ranges) {
    Ticks ticks;
    for (const TimeRange& range : ranges)
        for (std::int64_t t = range.begin.ns; t < range.end.ns; ++t)
            ticks.set(static_cast<std::size_t>(t));
    return ticks;
}

std::vector<TimeRange> randomRanges(test::RandomEvents& random) {
    std::vector<TimeRange> ranges;
    for (std::int64_t i = random.between(0, 12); i > 0; --i) {
        const std::int64_t begin = random.between(0, kTicks - 1);
        ranges.push_back({{begin}, {random.between(begin, kTicks)}});
    }
    return ranges;
}

void expectWellFormed(const Intervals& set) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        EXPECT_FALSE(set[i].empty());
        if (i > 0) {
            EXPECT_LT(set[i - 1].end, set[i].begin + Duration{1});
        }
    }
}

TEST(Intervals, AgreeWithTickByTickArithmetic) {
    test::RandomEvents random(1);
    for (int round = 0; round < 3000; ++round) {
        const auto left = randomRanges(random);
        const auto right = randomRanges(random);
        const Intervals a = unionOf(left);
        const Intervals b = unionOf(right);
        const Ticks ticksA = ticksOf(left);
        const Ticks ticksB = ticksOf(right);
        EXPECT_EQ(ticksOf(a), ticksA);
        EXPECT_EQ(ticksOf(intersection(a, b)), ticksA & ticksB);
        EXPECT_EQ(common(a, b), total(intersection(a, b)));
        EXPECT_EQ(ticksOf(unionOf(a, b)), ticksA | ticksB);
        EXPECT_EQ(ticksOf(difference(a, b)), ticksA & ~ticksB);
        EXPECT_EQ(total(a).ns, static_cast<std::int64_t>(ticksA.count()));
        for (const Intervals& set : {a, unionOf(a, b), intersection(a, b), difference(a, b)})
            expectWellFormed(set);
    }
}

TEST(Intervals, WhatIsCoveredOfARangeIsTickByTickArithmetic) {
    test::RandomEvents random(2);
    for (int round = 0; round < 10'000; ++round) {
        const auto ranges = randomRanges(random);
        const Intervals set = unionOf(ranges);
        const Ticks ticks = ticksOf(ranges);
        Coverage coverage(set);
        for (int question = 0; question < 6; ++question) {  // in any order
            const std::int64_t begin = random.between(0, kTicks - 1);
            const TimeRange range{{begin}, {random.between(begin, kTicks)}};
            const auto covered = static_cast<std::int64_t>((ticks & ticksOf({range})).count());
            ASSERT_EQ(total(set, range).ns, covered);
            ASSERT_EQ(coverage.within(range).ns, covered);
        }
    }
}

/// Lane by lane, each in order; many lanes are as good as no order at all.
TEST(Intervals, LanesInOrderMakeOneUnion) {
    test::RandomEvents random(3);
    for (const std::int64_t lanes : {1, 2, 3, 7, 64, 65, 66, 200}) {
        std::vector<TimeRange> ranges;
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
            for (std::int64_t at = lane % 5; at < std::int64_t{kTicks}; at += random.between(3, 20))
                ranges.push_back({{at}, {std::min<std::int64_t>(kTicks, at + lane % 3)}});
        }
        const Intervals set = unionOf(ranges);
        EXPECT_EQ(ticksOf(set), ticksOf(ranges)) << lanes;
        expectWellFormed(set);
    }
}

TEST(Intervals, TouchingRangesBecomeOne) {
    EXPECT_EQ(unionOf({{{3}, {5}}, {{1}, {3}}, {{7}, {7}}}), (Intervals{{{1}, {5}}}));
}

}  // namespace
}  // namespace shardscope::analysis
