// What every strategy communicates and learns.
#include "tests/engine/torch/counted_run.h"

#include <gmock/gmock.h>

namespace shardscope {
namespace {

using namespace test;

TEST(Ddp, SendsBucketsOfTheirSize) {
    run::RunConfig config = tinyRun(2);
    config.model.hidden = 256;
    config.model.heads = 4;
    config.strategy = run::Strategy::kDdpBucket;
    config.bucketMegabytes = 1;
    std::vector<Counter> counters(2);
    const auto losses = trainTiny(config, &counters);
    EXPECT_EQ(theory::stepContents(config).reductions, 7);  // 6.4 MB of gradients
    EXPECT_EQ(counters[0].contents.reductions, 7 * config.steps);
    config.strategy = run::Strategy::kDdpFlat;
    EXPECT_EQ(trainTiny(config, nullptr), losses);
}

/// What is left out comes later: after a few steps lossy gradients have led to about the same loss.
class LossyDdp : public testing::TestWithParam<run::Strategy> {
protected:
    static run::RunConfig run(run::Compression compression, double kept) {
        run::RunConfig config = tinyRun(2);
        config.strategy = GetParam();
        config.steps = 30;
        config.warmupSteps = 2;
        config.learningRate = 3e-3;
        config.bucketMegabytes = 0.04;
        config.compression = compression;
        config.keptFraction = kept;
        return config;
    }
};

TEST_P(LossyDdp, LearnsNearlyAsWell) {
    const auto exact = trainTiny(run(run::Compression::kNone, 1), nullptr);
    const auto narrow = trainTiny(run(run::Compression::kBFloat16, 1), nullptr);
    const auto tenth = trainTiny(run(run::Compression::kTopK, 0.1), nullptr);
    const auto all = trainTiny(run(run::Compression::kTopK, 1), nullptr);
    EXPECT_EQ(exact.front(), tenth.front());
    EXPECT_NEAR(narrow.back(), exact.back(), 0.02 * exact.back());
    EXPECT_NE(narrow.back(), exact.back());
    EXPECT_LT(tenth.back(), exact.front() - 0.5);
    EXPECT_NE(tenth.back(), exact.back());
    // Everything kept is nothing lost; only the sums are taken in another order.
    for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(all[i], exact[i], 1e-5 * exact[i]);
}

TEST_P(LossyDdp, MovesWhatTheorySays) {
    for (const auto compression : {run::Compression::kBFloat16, run::Compression::kTopK}) {
        run::RunConfig config = run(compression, 0.03);
        config.steps = 2;
        std::vector<Counter> counters(2);
        trainTiny(config, &counters);
        const auto expected = theory::stepContents(config);
        EXPECT_EQ(counters[1].contents.reductions, config.steps * expected.reductions);
        EXPECT_EQ(counters[1].moved(config), config.steps * theory::trafficPerStep(config).count);
    }
}

INSTANTIATE_TEST_SUITE_P(Ddp, LossyDdp,
                         testing::Values(run::Strategy::kDdpNaive, run::Strategy::kDdpFlat,
                                         run::Strategy::kDdpOverlap, run::Strategy::kDdpBucket),
                         [](const auto& tested) {
                             std::string name(toWord(tested.param));
                             std::erase(name, '-');
                             return name;
                         });

class EveryStrategy : public testing::TestWithParam<run::Strategy> {
protected:
    static run::RunConfig run(int ranks, int accumulate) {
        run::RunConfig config = tinyRun(ranks);
        config.strategy = GetParam();
        if (GetParam() == run::Strategy::kHsdp) config.shardRanks = ranks / 2;
        config.accumulate = accumulate;
        return config;
    }
};

TEST_P(EveryStrategy, CommunicatesWhatTheorySays) {
    for (const int ranks : {2, 4}) {
        for (const int accumulate : {1, 3}) expectWhatTheorySays(run(ranks, accumulate));
    }
}

TEST_P(EveryStrategy, TrainsAsZero3Does) {
    for (const int ranks : {1, 2, 3}) {
        for (const int accumulate : {1, 3}) {
            run::RunConfig config = run(ranks, accumulate);
            const auto losses = trainTiny(config, nullptr);
            config.strategy = run::Strategy::kZero3;
            const auto expected = trainTiny(config, nullptr);
            ASSERT_EQ(losses.size(), expected.size());
            for (std::size_t i = 0; i < losses.size(); ++i)
                EXPECT_NEAR(losses[i], expected[i], 1e-6 * expected[i]) << ranks << accumulate;
        }
    }
}

TEST_P(EveryStrategy, GivesTheSameLossesTwice) {
    EXPECT_EQ(trainTiny(run(3, 2), nullptr), trainTiny(run(3, 2), nullptr));
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy,
                         testing::Values(run::Strategy::kDdpNaive, run::Strategy::kDdpFlat,
                                         run::Strategy::kDdpOverlap, run::Strategy::kDdpBucket,
                                         run::Strategy::kZero1, run::Strategy::kZero2,
                                         run::Strategy::kZero3),
                         [](const auto& tested) {
                             std::string name;
                             for (const char c : std::string(toWord(tested.param)))
                                 if (c != '-') name += c;
                             return name;
                         });
}  // namespace
}  // namespace shardscope
