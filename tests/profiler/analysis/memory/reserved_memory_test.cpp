#include "profiler/analysis/memory/reserved_memory.h"

#include "profiler/analysis/memory/memory_steps.h"
#include "storage/model/step_facts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>

namespace shardscope::analysis {
namespace {

using Samples = std::vector<CounterEvent>;

CounterEvent sample(std::int64_t time, double value) {
    return {{time}, {}, value};
}

TEST(ReservedMemory, IsWhatLiesIdleAtMost) {
    const Samples reserved{sample(0, 100), sample(10, 400), sample(20, 400), sample(30, 300)};
    const Samples allocated{sample(0, 90), sample(5, 350), sample(15, 100), sample(25, 280)};
    const auto told = reservedMemory(reserved, allocated, {12});
    ASSERT_TRUE(told);
    EXPECT_EQ(told->most.count, 400);
    EXPECT_EQ(told->slack.count, 300);
    EXPECT_EQ(told->slackTime.ns, 20);
    EXPECT_DOUBLE_EQ(*told->slackShare(), 0.75);
    EXPECT_EQ(told->atPeak->count, 400);
}

TEST(ReservedMemory, OfSamplesBeforeAnythingIsKnownIsNotTold) {
    EXPECT_FALSE(reservedMemory({}, {sample(0, 1)}, {0}));
    EXPECT_FALSE(reservedMemory({sample(0, 100)}, {}, {0}));
    EXPECT_FALSE(reservedMemory({sample(0, 100)}, {sample(1, 1)}, {0}));
    const auto late = reservedMemory({sample(9, 100)}, {sample(1, 100)}, {5});
    ASSERT_TRUE(late);
    EXPECT_FALSE(late->atPeak);
    EXPECT_FALSE(late->slackShare());  // nothing lay idle
}

TEST(ReservedMemory, HasNoShareAboveTheWhole) {
    std::mt19937_64 random(7);
    const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity(), -5, 1e300};
    for (int i = 0; i < 10'000; ++i) {
        Samples reserved(random() % 6), allocated(random() % 6);
        for (Samples* samples : {&reserved, &allocated}) {
            std::int64_t time = 0;
            for (CounterEvent& each : *samples)
                each = sample(
                    time += static_cast<std::int64_t>(random() % 3),
                    random() % 8 == 0 ? odd[random() % 4] : static_cast<double>(random() % 100));
        }
        const auto told = reservedMemory(reserved, allocated, {4});
        if (!told) continue;
        ASSERT_GE(told->slack.count, 0);
        ASSERT_LE(told->slack, told->most);
        const auto share = told->slackShare();
        if (share) {
            ASSERT_GT(*share, 0);
            ASSERT_LE(*share, 1);
        }
    }
}

TEST(CounterChanges, AreThoseBetweenSamplesWithin) {
    const Samples samples{sample(0, 1),  sample(10, 5), sample(20, 5),
                          sample(30, 2), sample(40, 7), sample(50, 9)};
    const CounterChanges changes = changesOf(samples, {{10}, {50}});
    EXPECT_EQ(changes.grew, 1);
    EXPECT_EQ(changes.shrank, 1);
    EXPECT_EQ(changesOf({}, {{0}, {50}}).grew, 0);
    EXPECT_EQ(changesOf(samples, {{0}, {0}}).grew, 0);
}

TEST(AllocatedSamples, LeaveOutWhatLiesOutside) {
    std::vector<MemoryEvent> events(3);
    events[0].size = {100};
    events[1].size = {1000};
    events[1].category = MemoryCategory::kOutside;
    events[2].size = {40};
    events[2].action = MemoryAction::kFree;
    const Samples samples = allocatedSamples(events);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_DOUBLE_EQ(samples[0].value, 100);
    EXPECT_DOUBLE_EQ(samples[1].value, 60);
}

TEST(FreeBlocks, AreFragmentedWhereTheLargestIsSmall) {
    EXPECT_DOUBLE_EQ(*freeBlocks({{500}}).fragmentation(), 0);
    EXPECT_DOUBLE_EQ(*freeBlocks({{100}, {100}, {200}, {0}}).fragmentation(), 0.5);
    EXPECT_EQ(freeBlocks({{100}, {100}, {200}, {0}}).blocks, 3);
    EXPECT_FALSE(freeBlocks({}).fragmentation());
}

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
