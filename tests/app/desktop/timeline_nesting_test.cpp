// Which level of its track a slice stands on: by what contains it, whatever lane that is of.
#include "app/desktop/pages/timeline/lanes/lane_nesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace shardscope::desktop {
namespace {

using ::testing::ElementsAre;

constexpr Duration kCell{16};

NestedSlice exact(std::int64_t begin, std::int64_t end, std::uint8_t depth = 0) {
    return {{{begin}, {end}}, depth, true};
}
NestedSlice narrow(std::int64_t begin, std::int64_t end, std::uint8_t depth = 0) {
    return {{{begin}, {end}}, depth, false};
}

/// Slices of several lanes, each by depth, then begin.
class Track {
public:
    explicit Track(int lanes) {
        for (int tier = 0; tier < lanes; ++tier) m_lanes.push_back({{}, tier});
    }
    void add(std::size_t lane, NestedSlice slice) { m_lanes[lane].slices.push_back(slice); }
    std::vector<NestedLane>& sorted() {
        for (NestedLane& lane : m_lanes)
            std::ranges::stable_sort(lane.slices, {}, [](const NestedSlice& slice) {
                return std::pair(slice.depth, slice.range.begin);
            });
        return m_lanes;
    }

private:
    std::vector<NestedLane> m_lanes;
};

bool contains(const TimeRange& outer, const TimeRange& inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end && outer != inner;
}

/// Spans that nest, of no fixed order of lanes; none begins or ends with another.
void addTree(std::mt19937& random, TimeRange range, std::vector<std::uint8_t> depths,
             Track& track) {
    const auto pick = [&](std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    const auto lane = static_cast<std::size_t>(pick(0, static_cast<int>(depths.size()) - 1));
    track.add(lane, exact(range.begin.ns, range.end.ns, depths[lane]++));
    for (std::int64_t at = range.begin.ns + 1; at + 2 < range.end.ns;) {
        const std::int64_t begin = pick(at, range.end.ns - 2);
        const std::int64_t end = pick(begin + 1, range.end.ns - 1);
        addTree(random, {{begin}, {end}}, depths, track);
        at = end + 1;
    }
}

TEST(LaneNesting, WhereSpansNestTheLevelIsHowManyContainASlice) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        Track track(3);
        addTree(random, {{0}, {60 + round * 4}}, {0, 0, 0}, track);
        const auto& lanes = track.sorted();
        const auto levels = nestedLevels(lanes, {1});
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                int containers = 0;
                for (const NestedLane& other : lanes)
                    for (const NestedSlice& slice : other.slices)
                        containers += contains(slice.range, lanes[lane].slices[i].range) ? 1 : 0;
                ASSERT_EQ(levels[lane][i], containers) << "round " << round;
            }
    }
}

TEST(LaneNesting, ALevelStaysWhileOnePans) {
    std::mt19937 random(2);
    Track track(3);
    addTree(random, {{-300}, {300}}, {0, 0, 0}, track);
    const auto& lanes = track.sorted();
    const auto whole = nestedLevels(lanes, {1});
    for (int begin = -280; begin < 280; begin += 35) {
        const TimeRange view{{begin}, {begin + 40}};
        std::vector<NestedLane> seen;
        std::vector<std::vector<std::uint8_t>> expected;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            seen.push_back({{}, lanes[lane].tier});
            expected.emplace_back();
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                if (!lanes[lane].slices[i].range.intersects(view)) continue;
                seen.back().slices.push_back(lanes[lane].slices[i]);
                expected.back().push_back(whole[lane][i]);
            }
        }
        EXPECT_EQ(nestedLevels(seen, {1}), expected) << "from " << begin;
    }
}

TEST(LaneNesting, NoTwoSlicesOfALevelOverlapHoweverBadlyTheyNest) {
    std::mt19937 random(3);
    const auto pick = [&](int from, int to) {
        return std::uniform_int_distribution<int>(from, to)(random);
    };
    for (int round = 0; round < 40; ++round) {
        Track track(4);
        for (std::size_t lane = 0; lane < 4; ++lane)
            for (int i = 0; i < 40; ++i) {
                const int begin = pick(-500, 500);
                const bool wide = pick(0, 1) == 1;
                const int end = begin + (wide ? pick(16, 120) : pick(0, 15));
                // a lane alone is as its recorder laid it out
                bool clashes = false;
                for (const NestedSlice& other : track.sorted()[lane].slices)
                    clashes =
                        clashes || (other.range.begin.ns <= end && begin <= other.range.end.ns);
                if (!clashes) track.add(lane, {{{begin}, {end}}, 0, wide});
            }
        const auto& lanes = track.sorted();
        const auto levels = nestedLevels(lanes, kCell);
        std::vector<std::pair<int, TimeRange>> placed;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                const TimeRange range = lanes[lane].slices[i].range;
                for (const auto& [level, other] : placed)
                    ASSERT_FALSE(level == levels[lane][i] && other.intersects(range))
                        << "round " << round << ", level " << level;
                placed.emplace_back(levels[lane][i], range);
            }
    }
}

TEST(LaneNesting, OfTwoThatSpanTheSameTheOuterKindIsAbove) {
    Track track(2);
    track.add(0, exact(0, 100));
    track.add(1, exact(0, 100));
    track.add(1, exact(0, 100, 1));
    EXPECT_THAT(nestedLevels(track.sorted(), kCell),
                ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(LaneNesting, WhatOverlapsWithoutContainingDoesNotRunDownTheTrack) {
    Track track(1);
    for (int i = 0; i < 300; ++i) track.add(0, exact(i * 100, i * 100 + 150));
    const auto levels = nestedLevels(track.sorted(), kCell).front();
    EXPECT_EQ(*std::ranges::max_element(levels), 1);
}

TEST(LaneNesting, NarrowSlicesStandBelowTheExactOnesAroundThemThenByKind) {
    Track track(3);
    track.add(0, exact(0, 1000));       // an annotation
    track.add(1, exact(160, 480, 0));   // an operator
    track.add(1, narrow(200, 204, 1));  // one in it
    track.add(2, narrow(201, 203));     // its call
    track.add(2, narrow(300, 302));     // a call of the operator itself
    track.add(2, narrow(500, 502));     // one of neither
    track.add(2, narrow(-1, 1));        // half in the annotation
    track.add(2, narrow(1000, 1002));   // after it
    const auto levels = nestedLevels(track.sorted(), kCell);
    EXPECT_THAT(levels[1], ElementsAre(1, 2));
    EXPECT_THAT(levels[2], ElementsAre(1, 3, 2, 1, 0));
}

TEST(LaneNesting, KindsThatDoNotRunAtOnceStandSideBySide) {
    const std::vector<NestedLane> stream{
        {{exact(0, 320)}, 0},
        {{exact(0, 100), narrow(110, 115), narrow(400, 405)}, 1},
        {{narrow(99, 109), narrow(117, 119), narrow(407, 409)}, 1}};
    const auto levels = nestedLevels(stream, kCell);
    EXPECT_THAT(levels[1], ElementsAre(1, 1, 0));
    EXPECT_THAT(levels[2], ElementsAre(1, 1, 0)) << "though they share cells";
}

TEST(LaneNesting, NothingHasNoLevels) {
    EXPECT_TRUE(nestedLevels({}, kCell).empty());
    EXPECT_THAT(nestedLevels({{{}, 0}}, {0}), ElementsAre(::testing::IsEmpty()));
    const std::vector<NestedLane> apart{{{narrow(0, 0), narrow(std::int64_t{1} << 60, 0)}, 0}};
    EXPECT_THAT(nestedLevels(apart, {1}), ElementsAre(ElementsAre(0, 0)))
        << "however many cells there were";
}

}  // namespace
}  // namespace shardscope::desktop
