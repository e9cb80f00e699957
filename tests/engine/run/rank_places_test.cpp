#include "engine/run/config/rank_places.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

TEST(RankPlaces, RanksOfAHostFollowEachOther) {
    const RankPlaces places{{2, 1, 3}};
    EXPECT_EQ(places.hosts(), 3);
    EXPECT_EQ(places.ranks(), 6);
    EXPECT_FALSE(places.onOneHost());
    EXPECT_FALSE(places.even());
    EXPECT_EQ(places.firstOf(0), 0);
    EXPECT_EQ(places.firstOf(2), 3);
    const int hosts[] = {0, 0, 1, 2, 2, 2}, local[] = {0, 1, 0, 0, 1, 2};
    for (std::int32_t rank = 0; rank < 6; ++rank) {
        EXPECT_EQ(places.hostOf(rank), hosts[rank]) << rank;
        EXPECT_EQ(places.localRank(rank), local[rank]) << rank;
    }
}

TEST(RankPlaces, OfOneHostAreTheRanksThemselves) {
    const RankPlaces places = RankPlaces::onOneHost(4);
    EXPECT_TRUE(places.onOneHost());
    EXPECT_TRUE(places.even());
    EXPECT_EQ(places.ranks(), 4);
    EXPECT_EQ(places.hostOf(3), 0);
    EXPECT_EQ(places.localRank(3), 3);
}

}  // namespace
}  // namespace shardscope::run
