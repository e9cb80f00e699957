#include "profiler/planning/parameter_plan.h"
#include "tests/support/word_list_test.h"

#include <gmock/gmock.h>

namespace shardscope::test {

using PlanningWords = testing::Types<planning::Sharding>;
INSTANTIATE_TYPED_TEST_SUITE_P(Planning, WordList, PlanningWords);

}  // namespace shardscope::test

namespace shardscope::planning {
namespace {

using testing::HasSubstr;

/// ZeRO's figure 1: 7.5 B parameters on 64 ranks, Adam's K = 12. The figure prints one decimal.
TEST(StateBytes, AreThoseOfZerosFigure) {
    const auto gigabytes = [](Sharding sharding) {
        return stateBytesPerRank(sharding, kMixedAdam, 7.5e9, 64) * 1e-9;
    };
    EXPECT_NEAR(gigabytes(Sharding::kNone), 120, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::kOptimizer), 31.4, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::kGradients), 16.6, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::kParameters), 1.9, 0.05);
}

/// The table that courses show: 7 B on 8 ranks.
TEST(StateBytes, OfSevenBillionOnEightRanks) {
    const auto gigabytes = [](Sharding sharding) {
        return stateBytesPerRank(sharding, kMixedAdam, 7e9, 8) * 1e-9;
    };
    EXPECT_DOUBLE_EQ(gigabytes(Sharding::kNone), 112);
    EXPECT_DOUBLE_EQ(gigabytes(Sharding::kOptimizer), 38.5);
    EXPECT_DOUBLE_EQ(gigabytes(Sharding::kGradients), 26.25);
    EXPECT_DOUBLE_EQ(gigabytes(Sharding::kParameters), 14);
}

TEST(StateBytes, OnOneRankNothingIsDividedOrSent) {
    for (const Sharding sharding : kAll<Sharding>) {
        EXPECT_DOUBLE_EQ(stateBytesPerRank(sharding, kMixedAdam, 1e9, 1), 16e9);
        EXPECT_EQ(trafficPerStep(sharding, kMixedAdam, 1e9, 1), 0);
    }
}

/// ZeRO, section 7: twice the parameters for all but the last stage, which takes 1.5 times as much.
TEST(StateBytes, TrafficIsThatOfZerosSectionSeven) {
    const auto sent = [](Sharding sharding) {
        return trafficPerStep(sharding, kMixedAdam, 1e9, 4) / (1e9 * 2 * 0.75);
    };
    EXPECT_DOUBLE_EQ(sent(Sharding::kNone), 2);
    EXPECT_DOUBLE_EQ(sent(Sharding::kOptimizer), 2);
    EXPECT_DOUBLE_EQ(sent(Sharding::kGradients), 2);
    EXPECT_DOUBLE_EQ(sent(Sharding::kParameters), 3);
}

TEST(StateBytes, AreReadAsTheyAreWritten) {
    for (const char* text : {"2+2+12", "4+4+8", "2+4+0", "1.5+2+12.25"}) {
        const auto read = parseStateBytes(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(textOf(*read), text);
    }
    EXPECT_EQ(*parseStateBytes("2+2+12"), kMixedAdam);
}

TEST(StateBytes, AnythingElseIsRefusedInASentence) {
    for (const char* text : {"", "16", "2+2", "2+2+12+1", "2+2+", "+2+12", "a+b+c", "2 + 2 + 12",
                             "-2+2+12", "0+2+12", "2+2+nan", "2+2+1e9", "2+2+12 "}) {
        const auto read = parseStateBytes(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kUsage);
        EXPECT_THAT(read.error().message, HasSubstr("2+2+12"));
    }
}

}  // namespace
}  // namespace shardscope::planning
