#include "engine/training/schedule.h"

#include <gtest/gtest.h>

namespace shardscope::training {
namespace {

run::RunConfig run(run::Schedule schedule) {
    run::RunConfig config;
    config.schedule = schedule;
    config.steps = 110;
    config.warmupSteps = 10;
    config.learningRate = 1e-3;
    config.minimumLearningRate = 1e-4;
    return config;
}

constexpr run::Schedule kAll[] = {run::Schedule::kCosine, run::Schedule::kLinear,
                                  run::Schedule::kConstant};

TEST(Schedule, WarmsUpInEqualSteps) {
    for (const run::Schedule schedule : kAll) {
        const run::RunConfig config = run(schedule);
        for (int step = 0; step < 10; ++step)
            EXPECT_DOUBLE_EQ(learningRate(config, step), 1e-4 * (step + 1));
        EXPECT_DOUBLE_EQ(learningRate(config, 10), 1e-3);
    }
}

TEST(Schedule, GoesDownAsItsNameSays) {
    const auto at = [](run::Schedule schedule, std::int32_t step) {
        return learningRate(run(schedule), step);
    };
    EXPECT_DOUBLE_EQ(at(run::Schedule::kCosine, 60), 5.5e-4);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kLinear, 60), 5.5e-4);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kLinear, 35), 7.75e-4);
    // A quarter of the way a cosine has lost (1 - sqrt(1/2)) / 2 of its height.
    EXPECT_NEAR(at(run::Schedule::kCosine, 35), 1e-3 - 9e-4 * 0.1464466, 1e-9);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kConstant, 60), 1e-3);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kConstant, 5000), 1e-3);
    for (const run::Schedule schedule : {run::Schedule::kCosine, run::Schedule::kLinear}) {
        for (int step = 11; step < 110; ++step) {
            EXPECT_LT(at(schedule, step), at(schedule, step - 1));
            EXPECT_GT(at(schedule, step), 1e-4);
        }
        EXPECT_NEAR(at(schedule, 110), 1e-4, 1e-18);
        EXPECT_NEAR(at(schedule, 5000), 1e-4, 1e-18);
    }
}

TEST(Schedule, TakesRunsThatAreAllWarmUp) {
    run::RunConfig config = run(run::Schedule::kLinear);
    config.steps = 5;
    EXPECT_DOUBLE_EQ(learningRate(config, 4), 5e-4);
    config.warmupSteps = 0;
    EXPECT_DOUBLE_EQ(learningRate(config, 0), 1e-3);
}

}  // namespace
}  // namespace shardscope::training
