#include "profiler/planning/step_schedule.h"

#include <gtest/gtest.h>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;

RunConfig configOf(Strategy strategy) {
    RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.model.layers = 4;
    config.strategy = strategy;
    config.ranks = strategy == Strategy::kSingle ? 1 : 2;
    return config;
}

/// Everything that computes takes as long, so does every collective but the norm's.
StepCosts costsOf(std::int64_t computing, std::int64_t moving, std::int64_t wake = 0) {
    StepCosts costs;
    costs.computing = [=](const StepTask&) { return Duration{computing}; };
    costs.moving = [=](const StepTask& task) {
        return Duration{task.cause == Cause::kNorm ? 0 : moving};
    };
    costs.wake = {wake};
    return costs;
}

PlayedStep played(const RunConfig& config, const StepCosts& costs) {
    return playStep(stepTasks(config, kPlayedSteps), costs);
}

std::int64_t computes(const RunConfig& config) {
    std::int64_t count = 0;
    for (const StepTask& task : stepTasks(config, 1))
        count += task.kind == StepTask::Kind::kCompute;
    return count;
}

TEST(StepPlay, OneRankOnlyComputes) {
    const RunConfig config = configOf(Strategy::kSingle);
    const PlayedStep step = played(config, costsOf(100, 50));
    EXPECT_EQ(step.time.ns, 100 * computes(config));
    EXPECT_EQ(step.computing, step.time);
    EXPECT_EQ(step.waiting.ns, 0);
    EXPECT_EQ(step.moving.ns, 0);
}

TEST(StepPlay, DdpInOneMessageHidesNothing) {
    const RunConfig config = configOf(Strategy::kDdpFlat);
    const PlayedStep step = played(config, costsOf(100, 7000));
    EXPECT_EQ(step.time.ns, 100 * computes(config) + 7000);
    EXPECT_EQ(step.waiting.ns, 7000);
}

TEST(StepPlay, DdpByTensorHidesAllButTheLastBehindFastCompute) {
    const RunConfig config = configOf(Strategy::kDdpOverlap);
    // A block's tensors are sent while the block before it computes; the root's two tables and
    // norm come last, behind nothing.
    const PlayedStep step = played(config, costsOf(100'000, 10));
    const auto exposed = step.waiting.ns;
    EXPECT_GT(exposed, 0);
    EXPECT_LE(exposed, 10 * 5);
    EXPECT_EQ(step.time.ns, 100'000 * computes(config) + exposed);
}

TEST(StepPlay, ALinkThatIsAlwaysBusyIsTheStep) {
    const RunConfig config = configOf(Strategy::kZero3);
    const PlayedStep step = played(config, costsOf(1, 1'000'000));
    // Nothing computes for long: what the link moves bounds the step.
    EXPECT_GE(step.time, step.moving);
    EXPECT_LT(step.time.ns, step.moving.ns + 100 * computes(config));
}

TEST(StepPlay, NoStepIsShorterThanItsComputeOrItsLink) {
    for (const Strategy strategy : kAll<Strategy>)
        for (const std::int64_t moving : {0, 10, 100, 1000, 10'000}) {
            const PlayedStep step = played(configOf(strategy), costsOf(300, moving));
            EXPECT_GE(step.time, step.computing) << toWord(strategy);
            EXPECT_EQ(step.time, step.computing + step.waiting) << toWord(strategy);
            // One link only: the norm waits for all that came before.
            EXPECT_GE(step.time.ns, step.moving.ns - moving) << toWord(strategy);
        }
}

TEST(StepPlay, ASlowerLinkIsNeverFaster) {
    for (const Strategy strategy : kAll<Strategy>) {
        Duration before;
        for (const std::int64_t moving : {0, 30, 300, 3000, 30'000}) {
            const Duration time = played(configOf(strategy), costsOf(300, moving)).time;
            EXPECT_GE(time, before) << toWord(strategy);
            before = time;
        }
    }
}

TEST(StepPlay, EveryWaitThatBlocksIsWokenFrom) {
    const RunConfig config = configOf(Strategy::kDdpFlat);
    const Duration prompt = played(config, costsOf(100, 7000)).time;
    EXPECT_EQ(played(config, costsOf(100, 7000, 11)).time.ns, prompt.ns + 11);
}

TEST(StepPlay, TheRestOfAStepIsSpreadOverIt) {
    const RunConfig config = configOf(Strategy::kSingle);
    StepCosts costs = costsOf(100, 0);
    costs.rest = {1000 * computes(config)};
    EXPECT_EQ(played(config, costs).time.ns, 1100 * computes(config));
}

TEST(StepPlay, NothingTakesNoTime) {
    EXPECT_EQ(playStep({}, costsOf(1, 1)).time.ns, 0);
}

}  // namespace
}  // namespace shardscope::planning
