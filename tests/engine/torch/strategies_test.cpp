// What every strategy communicates and learns.
#include "engine/training/checkpointing.h"
#include "tests/engine/torch/counted_run.h"
#include "tests/engine/torch/tiny_run.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// State in host memory: the same numbers to the last bit, in other places. The device is host
// memory here; what differs on a GPU are the copies.

using run::Offload;
using run::Strategy;

struct Case {
    Strategy strategy;
    Offload offload;
    run::Precision precision = run::Precision::kFloat32;
};

class Offloaded : public testing::TestWithParam<Case> {
protected:
    static run::RunConfig run(std::int32_t accumulate) {
        run::RunConfig config = test::tinyRun(GetParam().strategy == Strategy::kSingle ? 1 : 4);
        config.strategy = GetParam().strategy;
        if (config.strategy == Strategy::kHsdp) config.shardRanks = 2;
        config.precision = GetParam().precision;
        config.accumulate = accumulate;
        config.steps = 4;
        config.learningRate = 3e-3;
        return config;
    }
};

TEST_P(Offloaded, LearnsTheSameToTheLastBit) {
    for (const std::int32_t accumulate : {1, 3}) {
        run::RunConfig config = run(accumulate);
        const auto expected = test::trainTiny(config, nullptr);
        config.offload = GetParam().offload;
        EXPECT_EQ(test::trainTiny(config, nullptr), expected);
        EXPECT_LT(expected.back(), expected.front());
    }
}

TEST_P(Offloaded, CommunicatesTheSame) {
    run::RunConfig config = run(2);
    config.offload = GetParam().offload;
    test::expectWhatTheorySays(config);
}

TEST_P(Offloaded, KeepsWhatTheorySays) {
    run::RunConfig config = run(1);
    config.offload = GetParam().offload;
    test::runRanks(config.ranks, [&](comm::Communicator& c) {
        test::TinyRank rank(config, c);
        EXPECT_EQ(rank.partitioning->stateBytes(), theory::stateTheory(config).count);
    });
}

/// A checkpoint of an offloaded run is any other's.
TEST_P(Offloaded, ResumesFromItsCheckpointAndWithout) {
    const test::TemporaryFolder folder;
    run::RunConfig config = run(1);
    config.checkpoint = folder.path();
    config.offload = GetParam().offload;
    const auto values = [&](const run::RunConfig& run, bool write) {
        std::map<std::string, at::Tensor> all;
        test::runRanks(run.ranks, [&](comm::Communicator& c) {
            test::TinyRank rank(run, c);
            training::Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c,
                                      rank.batches(), nullptr);
            if (write) {
                ASSERT_TRUE(trainer.step(0, false, training::AfterStep::kPause));
                ASSERT_TRUE(training::writeCheckpoint(run, trainer.progress(), rank.model,
                                                      *rank.partitioning, c));
            } else {
                const auto from = checkpoint::Checkpoint::open(folder.path());
                ASSERT_TRUE(from) << from.error().message;
                ASSERT_TRUE(training::readCheckpoint(*from, *rank.partitioning, c));
            }
            rank.partitioning->visit([&](const kernels::Parameter& p, const at::Tensor& value) {
                if (c.rank() == 0) all[p.name] = value.clone();
            });
        });
        return all;
    };
    const auto written = values(config, true);
    EXPECT_EQ(written.size(), 4u + 2 * 8);
    for (const Offload offload : {GetParam().offload, Offload::kNone}) {
        config.offload = offload;
        const auto read = values(config, false);
        for (const auto& [name, value] : written)
            EXPECT_TRUE(at::equal(read.at(name), value)) << name;
    }
}

constexpr auto kBf16 = run::Precision::kBFloat16;
INSTANTIATE_TEST_SUITE_P(Strategies, Offloaded,
                         testing::Values(Case{Strategy::kSingle, Offload::kOptimizer},
                                         Case{Strategy::kDdpBucket, Offload::kOptimizer},
                                         Case{Strategy::kZero1, Offload::kOptimizer},
                                         Case{Strategy::kZero2, Offload::kOptimizer},
                                         Case{Strategy::kZero2, Offload::kGradients},
                                         Case{Strategy::kZero3, Offload::kOptimizer},
                                         Case{Strategy::kZero3, Offload::kGradients},
                                         Case{Strategy::kHsdp, Offload::kOptimizer},
                                         Case{Strategy::kSingle, Offload::kOptimizer, kBf16},
                                         Case{Strategy::kZero2, Offload::kGradients, kBf16},
                                         Case{Strategy::kZero3, Offload::kOptimizer, kBf16},
                                         Case{Strategy::kZero3, Offload::kGradients, kBf16}),
                         [](const auto& tested) {
                             std::string name = std::string(toWord(tested.param.strategy)) +
                                                toWord(tested.param.offload) +
                                                toWord(tested.param.precision);
                             std::erase(name, '-');
                             return name;
                         });

}  // namespace
}  // namespace shardscope
