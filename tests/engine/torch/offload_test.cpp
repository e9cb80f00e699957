// State in host memory: the same numbers to the last bit, in other places. The device is host
// memory here; what differs on a GPU are the copies.
#include "engine/training/checkpointing.h"
#include "tests/engine/torch/counted_run.h"
#include "tests/engine/torch/tiny_run.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

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
