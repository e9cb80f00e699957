#include "engine/parallel/views.h"
#include "tests/engine/torch/counted_run.h"

#include <gmock/gmock.h>

#include <cmath>

namespace shardscope {
namespace {

using namespace test;

std::vector<kernels::Parameter> parameters(const std::vector<std::vector<std::int64_t>>& shapes) {
    std::vector<kernels::Parameter> list;
    for (const auto& shape : shapes) {
        list.emplace_back();
        list.back().shape = shape;
    }
    return list;
}

TEST(ShardLayout, SplitsIntoWholeCacheLinesWithMatricesInFront) {
    const auto list = parameters({{10, 10}, {5, 3}, {7}});
    for (std::int64_t ranks : {1, 2, 3, 4, 7}) {
        const auto layout = parallel::layOut(list, ranks);
        EXPECT_EQ(layout.used, 122);
        EXPECT_EQ(layout.decaying, 115);
        EXPECT_THAT(layout.offsets, testing::ElementsAre(0, 100, 115));
        EXPECT_EQ(layout.shard % parallel::kCacheLineFloats, 0);
        EXPECT_GE(layout.padded(), layout.used);
        EXPECT_LT(layout.padded(), layout.used + ranks * parallel::kCacheLineFloats);
        std::int64_t decaying = 0;
        for (std::int64_t r = 0; r < ranks; ++r) decaying += layout.decayingInShard(r);
        EXPECT_EQ(decaying, 115);
    }
}

TEST(StateTheory, IsSixteenBytesAParameterOverTheRanks) {
    run::RunConfig config;
    config.ranks = 2;
    EXPECT_EQ(theory::parameterCount(config.model), 10'774'272);
    EXPECT_EQ(theory::stateTheory(config).count, 86'194'176);
    const auto reference = run::findModelPreset("ref");
    ASSERT_TRUE(reference);
    EXPECT_EQ(theory::parameterCount(*reference), 203'033'600);
    EXPECT_NEAR(theory::palmFlopsPerToken(*reference), 1293.7e6, 0.05e6);
}

TEST(Zero3, StepsContainExactlyWhatTheorySays) {
    for (int prefetch : {0, 1, 2, 5}) {
        run::RunConfig config = tinyRun(2);
        config.prefetch = prefetch;
        expectWhatTheorySays(config);
    }
}

struct Zero3Form {
    const char* name;
    bool reshardAfterForward;
    bool keepGathered;
    bool keepGradients;
    std::int32_t recomputeEvery;
};

class EveryZero3 : public testing::TestWithParam<Zero3Form> {
protected:
    static run::RunConfig run(int ranks, int accumulate) {
        run::RunConfig config = tinyRun(ranks);
        config.accumulate = accumulate;
        config.reshardAfterForward = GetParam().reshardAfterForward;
        config.keepGathered = GetParam().keepGathered;
        config.keepGradients = GetParam().keepGradients;
        config.recomputeEvery = GetParam().recomputeEvery;
        return config;
    }
};

TEST_P(EveryZero3, CommunicatesWhatTheorySays) {
    for (const int accumulate : {1, 3}) expectWhatTheorySays(run(2, accumulate));
}

TEST_P(EveryZero3, FollowsThePlainOne) {
    for (const int accumulate : {1, 3}) {
        run::RunConfig plain = tinyRun(2);
        plain.accumulate = accumulate;
        const auto expected = trainTiny(plain, nullptr);
        const auto losses = trainTiny(run(2, accumulate), nullptr);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(losses[i], expected[i], 2e-6 * expected[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, EveryZero3,
                         testing::Values(Zero3Form{"Plain", true, false, false, 0},
                                         Zero3Form{"NoReshard", false, false, false, 0},
                                         Zero3Form{"KeepGathered", true, true, false, 0},
                                         Zero3Form{"KeepGradients", true, false, true, 0},
                                         Zero3Form{"RecomputeAll", true, false, false, 1},
                                         Zero3Form{"RecomputeHalf", false, true, false, 2}),
                         [](const auto& tested) { return tested.param.name; });

/// Bytes a step moves at 2 ranks in units of the parameters' (performance reference 6.3).
TEST(Zero3, MovesTheClosedFormsOfAccumulation) {
    run::RunConfig config = tinyRun(2);
    const auto& m = config.model;
    const std::int64_t all = 4 * theory::parameterCount(m) / 2;
    const std::int64_t block = 4 * theory::blockParameterCount(m) / 2;
    for (const std::int32_t a : {1, 3, 8}) {
        config.accumulate = a;
        config.keepGradients = config.keepGathered = false;
        // A micro-step gathers the root once more and the last block once less than 2 P.
        EXPECT_EQ(theory::trafficPerStep(config).count, a * (3 * all - block));
        config.keepGradients = true;
        EXPECT_EQ(theory::trafficPerStep(config).count, a * (2 * all - block) + all);
        config.keepGathered = true;
        EXPECT_EQ(theory::trafficPerStep(config).count, 2 * all);
    }
}

TEST(Zero3, GivesTheSameLossesTwice) {
    EXPECT_EQ(trainTiny(tinyRun(3), nullptr), trainTiny(tinyRun(3), nullptr));
}

TEST(Zero3, LossFallsAndStartsNearUniform) {
    run::RunConfig config = tinyRun(2);
    config.steps = 30;
    config.warmupSteps = 2;
    config.learningRate = 3e-3;
    const auto losses = trainTiny(config, nullptr);
    EXPECT_NEAR(losses.front(), std::log(64.0), 0.1);
    EXPECT_LT(losses.back(), losses.front() - 0.5);
}
}  // namespace
}  // namespace shardscope
