#include "storage/model/events.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace shardscope {
namespace {

TEST(Arrivals, KnowFirstAndLast) {
    const Arrivals arrivals{{30}, {10}, {50}, {50}, {10}};
    EXPECT_EQ(arrivals.size(), 5u);
    EXPECT_EQ(arrivals.first(), Timestamp{10});
    EXPECT_EQ(arrivals.last(), Timestamp{50});
    EXPECT_EQ(arrivals.lastPlace(), 2u) << "the first of two at once";
    EXPECT_EQ(arrivals[1], Timestamp{10});
    EXPECT_EQ(std::vector<Timestamp>(arrivals.begin(), arrivals.end()).at(4), Timestamp{10});
}

TEST(Arrivals, AreEqualByTheirTimesAndShareWithCopies) {
    const Arrivals one{{1}, {2}}, copy = one, same{{1}, {2}}, other{{1}, {3}}, shorter{{1}};
    EXPECT_TRUE(copy.sharesWith(one));
    EXPECT_FALSE(same.sharesWith(one));
    EXPECT_EQ(same, one);
    EXPECT_NE(other, one);
    EXPECT_NE(shorter, one);
}

TEST(Arrivals, OfABlockAreItsTimesFromAPlaceOn) {
    const std::shared_ptr<const Timestamp[]> block(new Timestamp[]{{7}, {9}, {8}, {1}, {2}, {3}});
    const Arrivals one(block, 0, 3), other(block, 3, 3), copy = other, again(block, 3, 3);
    EXPECT_EQ(one, (Arrivals{{7}, {9}, {8}}));
    EXPECT_EQ(one.last(), Timestamp{9});
    EXPECT_EQ(one.lastPlace(), 1u);
    EXPECT_EQ(other, (Arrivals{{1}, {2}, {3}}));
    EXPECT_FALSE(one.sharesWith(other));
    EXPECT_TRUE(copy.sharesWith(other));
    EXPECT_TRUE(again.sharesWith(other));
    EXPECT_TRUE(Arrivals(block, 6, 0).empty());
}

TEST(Arrivals, MayBeUnknown) {
    const Arrivals none, alsoNone{std::vector<Timestamp>()};
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.begin(), none.end());
    EXPECT_EQ(none, alsoNone);
    CollectiveEvent event;
    event.start = {5};
    event.end = {9};
    EXPECT_EQ(event.lastArrival(), Timestamp{5});
}

TEST(Arrivals, OfAnEventEndWithIt) {
    CollectiveEvent event;
    event.start = {5};
    event.end = {9};
    event.arrivals = {{5}, {7}};
    EXPECT_EQ(event.lastArrival(), Timestamp{7});
    event.arrivals = {{1}, {2}};
    EXPECT_EQ(event.lastArrival(), Timestamp{5}) << "its own is not among them";
    event.arrivals = {{5}, {12}};
    EXPECT_EQ(event.lastArrival(), Timestamp{9});
}

}  // namespace
}  // namespace shardscope
