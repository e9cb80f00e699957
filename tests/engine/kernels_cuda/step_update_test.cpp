// What a step's update follows from: the rule that host and devices share.
#include "engine/kernels/step_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardscope::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

UpdateRule rule(double clip, double lossScale = 1) {
    UpdateRule rule;
    rule.adamW.learningRate = 1e-2;
    rule.adamW.weightDecay = 0.1;
    rule.clip = clip;
    rule.lossScale = lossScale;
    return rule;
}

StepUpdate summed(double norm, double loss = 3) {
    StepUpdate update;
    update.sums.squaredNorm = norm * norm;
    update.sums.loss = loss;
    return update;
}

TEST(StepUpdate, ClipsDownToTheNormAndNeverUp) {
    StepUpdate large = summed(8), small = summed(0.5), any = summed(8);
    decideUpdate(rule(2), large);
    decideUpdate(rule(2), small);
    decideUpdate(rule(0), any);
    EXPECT_FLOAT_EQ(large.constants.scale, static_cast<float>(2 / (8 + 1e-6)));
    EXPECT_EQ(small.constants.scale, 1.0F);
    EXPECT_EQ(any.constants.scale, 1.0F);
}

TEST(StepUpdate, TakesTheLossScaleOutOfNormAndGradients) {
    StepUpdate update = summed(8 * 1024);
    decideUpdate(rule(2, 1024), update);
    EXPECT_FLOAT_EQ(update.constants.scale, static_cast<float>(2 / (8 + 1e-6) / 1024));
}

TEST(StepUpdate, CorrectsBiasByTheUpdatesThatWereMade) {
    StepUpdate update = summed(1);
    for (int i = 1; i <= 3; ++i) decideUpdate(rule(0), update);
    EXPECT_EQ(update.updates, 3);
    AdamWStep third = rule(0).adamW;
    third.step = 3;
    EXPECT_EQ(update.constants.stepSize, adamWConstants(third).stepSize);
}

TEST(StepUpdate, StaysHaltedOnceSomethingIsNotFinite) {
    for (const bool ofLoss : {false, true}) {
        StepUpdate update = ofLoss ? summed(1, std::nan("")) : summed(kInfinity);
        decideUpdate(rule(1), update);
        EXPECT_EQ(update.applied, 0);
        EXPECT_EQ(update.halted, 1);
        update.sums = summed(1).sums;  // of the step that was queued behind it
        decideUpdate(rule(1), update);
        EXPECT_EQ(update.applied, 0);
        EXPECT_EQ(update.updates, 0);
    }
}

TEST(StepUpdate, SkipsAStepWhoseScaledGradientsOverflow) {
    UpdateRule skipping = rule(1, 4096);
    skipping.maySkip = true;
    StepUpdate update = summed(kInfinity);
    decideUpdate(skipping, update);
    EXPECT_EQ(update.applied, 0);
    EXPECT_EQ(update.halted, 0);
    update.sums = summed(1).sums;
    decideUpdate(skipping, update);
    EXPECT_EQ(update.applied, 1);
    EXPECT_EQ(update.updates, 1);
}

TEST(StepUpdate, HaltsAtALossThatIsNotFiniteEvenWhereStepsMayBeSkipped) {
    UpdateRule skipping = rule(1, 4096);
    skipping.maySkip = true;
    StepUpdate update = summed(kInfinity, kInfinity);
    decideUpdate(skipping, update);
    EXPECT_EQ(update.halted, 1);
}

}  // namespace
}  // namespace shardscope::kernels
