#include "engine/worker/event_names.h"

#include <gtest/gtest.h>

namespace shardscope::worker {
namespace {

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
