#include "profiler/analysis/memory/memory_steps.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace shardscope::analysis {
namespace {

MemoryEvent event(std::int64_t time, std::int64_t bytes, Phase phase = Phase::kForward) {
    MemoryEvent made;
    made.time = {time};
    made.size = {std::abs(bytes)};
    made.action = bytes > 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
    made.phase = phase;
    return made;
}

std::vector<StepFacts> steps(std::int32_t count) {
    std::vector<StepFacts> all;
    for (std::int32_t i = 0; i < count; ++i) {
        StepFacts step;
        step.step = {i};
        step.start = {i * 100};
        step.end = {i * 100 + 90};
        all.push_back(step);
    }
    return all;
}

TEST(StepMemory, IsTheMostWithinAndWhatIsLeft) {
    const auto told =
        stepMemory({event(-10, 1000), event(10, 500), event(20, 300, Phase::kBackward),
                    event(30, -500), event(95, 5000), event(96, -5000), event(110, -300)},
                   steps(2));
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].peak.count, 1800);
    EXPECT_EQ(told[0].peakPhase, Phase::kBackward);
    EXPECT_EQ(told[0].left.count, 1300);
    EXPECT_EQ(told[1].peak.count, 1300);  // what it began with
    EXPECT_EQ(told[1].left.count, 1000);
}

std::vector<StepMemory> leaving(const std::vector<std::int64_t>& left) {
    std::vector<StepMemory> told;
    for (const std::int64_t bytes : left) {
        StepMemory step;
        step.left = {bytes};
        step.peak = {bytes + 1'000};
        told.push_back(step);
    }
    return told;
}

TEST(MemoryGrowth, IsRegularAndOfNote) {
    const auto leak = growthOf(leaving({0, 900, 1000, 1010, 1020, 1030, 1040, 1050, 1060, 1070}));
    ASSERT_TRUE(leak);
    EXPECT_TRUE(leak->grows);
    EXPECT_EQ(leak->perStep.count, 10);
    EXPECT_EQ(leak->all.count, 70);
}

TEST(MemoryGrowth, IsNotWhatWarmingUpTakes) {
    const auto warm = growthOf(leaving({0, 900, 1000, 1000, 1000, 1000, 1000, 1000, 1000}));
    ASSERT_TRUE(warm);
    EXPECT_FALSE(warm->grows);
    EXPECT_FALSE(growthOf(leaving({0, 500, 1000, 1001, 1002, 1003, 1004, 1005, 1006}))->grows);
    EXPECT_FALSE(growthOf(leaving({0, 0, 1000, 1500, 1000, 1500, 1000, 1500, 1000, 1500}))->grows);
}

TEST(MemoryGrowth, MayBeWhereThePeakIsLate) {
    RankEvents events;
    events.hasMemoryEvents = true;
    events.peakTime = {490};
    EXPECT_TRUE(mayGrow(events, steps(10)));
    events.peakTime = {489};
    EXPECT_FALSE(mayGrow(events, steps(10))) << "in the fifth of ten";
    events.peakTime = {700};
    EXPECT_FALSE(mayGrow(events, steps(7))) << "too few to tell";
    EXPECT_TRUE(mayGrow(events, steps(8)));
    events.rank = {1};
    EXPECT_FALSE(mayGrow(events, steps(8))) << "steps of another rank";
    events.rank = {0};
    events.hasMemoryEvents = false;
    EXPECT_FALSE(mayGrow(events, steps(8)));
}

TEST(MemoryGrowth, OfFewStepsIsNotKnown) {
    EXPECT_FALSE(growthOf(leaving({1, 2, 3, 4, 5, 6, 7})));
}

}  // namespace
}  // namespace shardscope::analysis
