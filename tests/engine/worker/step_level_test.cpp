#include "engine/worker/step_level.h"

#include "engine/worker/event_names.h"

#include <gtest/gtest.h>

namespace shardscope::worker {
namespace {

constexpr auto kOnSchedule = DetailReason::kSchedule;

TEST(StepLevel, IsTheRunsUntilSomethingElseIsDecided) {
    StepLevel level(CaptureLevel::kLight);
    EXPECT_TRUE(level.takes(CaptureLevel::kLight));
    EXPECT_FALSE(level.takes(CaptureLevel::kFull));
    level.decide(CaptureLevel::kSteps, kOnSchedule, CaptureLevel::kSteps);
    EXPECT_EQ(level.level(), CaptureLevel::kSteps);
    EXPECT_FALSE(level.takes(CaptureLevel::kLight));
}

TEST(StepLevel, CollectivesThatFetchAheadBelongToTheStepAfter) {
    StepLevel level(CaptureLevel::kFull);
    level.decide(CaptureLevel::kSteps, kOnSchedule, CaptureLevel::kFull);
    level.begin(4);
    EXPECT_FALSE(level.takesCollective(4));
    EXPECT_TRUE(level.takesCollective(5));
    level.decide(CaptureLevel::kFull, kOnSchedule, CaptureLevel::kSteps);
    level.begin(5);
    EXPECT_TRUE(level.takesCollective(5));
    EXPECT_FALSE(level.takesCollective(6));
}

TEST(StepLevel, CollectivesThatAreReportedLateBelongToTheStepBefore) {
    StepLevel level(CaptureLevel::kFull);
    level.begin(3);
    level.decide(CaptureLevel::kSteps, kOnSchedule, CaptureLevel::kSteps);
    EXPECT_TRUE(level.takesCollective(3)) << "the step after is decided, and has not begun";
    level.begin(4);
    EXPECT_TRUE(level.takesCollective(3));
    EXPECT_FALSE(level.takesCollective(4));
    level.decide(CaptureLevel::kFull, kOnSchedule, CaptureLevel::kFull);
    level.begin(5);
    EXPECT_TRUE(level.takesCollective(3)) << "of a host that is a step ahead";
    EXPECT_FALSE(level.takesCollective(4));
    level.decide(CaptureLevel::kSteps, kOnSchedule, CaptureLevel::kSteps);
    EXPECT_FALSE(level.takesCollective(kNoStep.value)) << "between steps: the level from now on";
}

TEST(StepLevel, AStepIsWholeWhenWhatWasFetchedForItWasCapturedToo) {
    StepLevel level(CaptureLevel::kFull);
    level.decide(CaptureLevel::kSteps, kOnSchedule, CaptureLevel::kSteps);
    level.begin(0);
    EXPECT_FALSE(level.whole());
    level.decide(CaptureLevel::kFull, kOnSchedule, CaptureLevel::kFull);
    level.begin(1);
    EXPECT_FALSE(level.whole()) << "fetched ahead while nothing was captured";
    level.decide(CaptureLevel::kFull, kOnSchedule, CaptureLevel::kFull);
    level.begin(2);
    EXPECT_TRUE(level.whole());
}

TEST(Stretch, PhasesOfWorkBeginTheirs) {
    EXPECT_EQ(stretchOf(Phase::kForward, Stretch::kNone), Stretch::kForward);
    EXPECT_EQ(stretchOf(Phase::kHead, Stretch::kForward), Stretch::kHead);
    EXPECT_EQ(stretchOf(Phase::kBackward, Stretch::kHead), Stretch::kBackward);
}

TEST(Stretch, ClippingIsPartOfTheOptimizers) {
    EXPECT_EQ(stretchOf(Phase::kClip, Stretch::kBackward), Stretch::kOptimizer);
    EXPECT_EQ(stretchOf(Phase::kOptimizer, Stretch::kOptimizer), Stretch::kOptimizer);
}

TEST(Stretch, WaitsBelongToWhereTheyHappen) {
    for (const Phase phase : {Phase::kWaitGather, Phase::kWaitReduction, Phase::kWaitOther,
                              Phase::kRecompute, Phase::kRelease}) {
        EXPECT_EQ(stretchOf(phase, Stretch::kBackward), Stretch::kBackward) << toWord(phase);
        EXPECT_EQ(stretchOf(phase, Stretch::kNone), Stretch::kNone) << toWord(phase);
    }
}

}  // namespace
}  // namespace shardscope::worker
