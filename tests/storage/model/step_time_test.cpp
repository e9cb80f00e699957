#include "storage/model/step_time.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

StepFacts step(std::uint32_t rank, std::int32_t number, std::int64_t start, std::int64_t end) {
    StepFacts facts;
    facts.rank = {rank};
    facts.step = {number};
    facts.start = {start};
    facts.end = {end};
    return facts;
}

const std::vector<StepFacts> kSteps{step(0, 1, 10, 20), step(1, 1, 8, 25), step(0, 2, 20, 30),
                                    step(1, 2, 26, 40), step(0, 3, 30, 39)};

TEST(TimeOfSteps, IsFromTheFirstStartToTheLastEnd) {
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {}), (TimeRange{{8}, {40}}));
    EXPECT_EQ(timeOfSteps(kSteps, {2}, {2}, {}), (TimeRange{{20}, {40}}));
    EXPECT_EQ(timeOfSteps(kSteps, {3}, {9}, {}), (TimeRange{{30}, {39}}));
}

TEST(TimeOfSteps, IsOfTheRanksThatAreNamed) {
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {RankId{0}}), (TimeRange{{10}, {30}}));
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {RankId{1}, RankId{0}}), (TimeRange{{8}, {40}}));
}

TEST(TimeOfSteps, ThereIsNoneOfStepsThatAreNotThere) {
    EXPECT_FALSE(timeOfSteps(kSteps, {4}, {9}, {}));
    EXPECT_FALSE(timeOfSteps(kSteps, {3}, {3}, {RankId{1}}));
    EXPECT_FALSE(timeOfSteps({}, {0}, {9}, {}));
}

}  // namespace
}  // namespace shardscope
