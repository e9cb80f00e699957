#include "engine/parallel/shard_layout.h"
#include "engine/theory/theory.h"
#include "engine/training/session.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

namespace shardscope {
namespace {

using testing::Each;
using testing::Eq;

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
    control::RunConfig config;
    config.ranks = 2;
    EXPECT_EQ(theory::parameterCount(config.model), 10'774'272);
    EXPECT_EQ(theory::stateTheory(config).count, 86'194'176);
    const auto reference = control::findModelPreset("ref");
    ASSERT_TRUE(reference);
    EXPECT_EQ(theory::parameterCount(*reference), 203'033'600);
    EXPECT_NEAR(theory::palmFlopsPerToken(*reference), 1293.7e6, 0.05e6);
}

/// Counts what a step reports.
class Counter final : public control::Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport& report) override {
        const std::lock_guard lock(m_mutex);
        const bool counted = report.phase == Phase::kForward || report.phase == Phase::kHead ||
                             report.phase == Phase::kBackward || report.phase == Phase::kClip ||
                             report.phase == Phase::kRecompute || report.phase == Phase::kOptimizer;
        if (counted) ++contents.phases;
    }
    void collective(const control::CollectiveReport& report) override {
        const std::lock_guard lock(m_mutex);
        const bool gathered = report.cause == Cause::kDemand || report.cause == Cause::kPrefetch ||
                              report.cause == Cause::kUpdate;
        if (gathered) ++contents.gathers;
        if (report.cause == Cause::kGradient) ++contents.reductions;
        if (!gathered && report.cause != Cause::kGradient) return;
        const bool twice = report.operation == CollectiveOp::kAllReduce;
        sizes[report.group] += (twice ? 2 : 1) * report.sizeBytes;
    }
    void buffer(const control::BufferReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    theory::StepContents contents;
    /// By group; all-reduces count twice: a reduce-scatter and a gather.
    std::map<std::uint32_t, std::int64_t> sizes;
    /// Bytes that went over the link, each group's by its ring factor.
    [[nodiscard]] std::int64_t moved(const control::RunConfig& config) const {
        std::int64_t bytes = 0;
        for (const auto& [group, size] : sizes) {
            const std::int64_t shards = theory::shardRanks(config);
            const std::int64_t groups = config.ranks / shards;
            const std::int64_t ranks = group == 0        ? config.ranks
                                       : group <= groups ? shards
                                                         : groups;
            bytes += size * (ranks - 1) / ranks;
        }
        return bytes;
    }

private:
    std::mutex m_mutex;
};

control::RunConfig tinyRun(int ranks) {
    control::RunConfig config;
    config.model = *control::findModelPreset("tiny");
    config.ranks = ranks;
    config.batch = 2;
    config.accumulate = 2;
    config.steps = 3;
    return config;
}

data::Batch patternBatch(const control::RunConfig& config, std::int32_t step, int rank) {
    data::Batch batch{at::empty({config.batch, config.model.context}, at::kLong),
                      at::empty({config.batch * config.model.context}, at::kLong)};
    for (std::int64_t i = 0; i < batch.tokens.numel(); ++i) {
        batch.tokens.data_ptr<std::int64_t>()[i] = (i * 5 + step + rank) % 64;
        batch.targets.data_ptr<std::int64_t>()[i] = (i * 5 + 5 + step + rank) % 64;
    }
    return batch;
}

std::vector<double> trainTiny(const control::RunConfig& config, std::vector<Counter>* counters) {
    std::vector<double> losses;
    auto segment = comm::Segment::anonymous(std::size_t{64} << 20, config.ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < config.ranks; ++rank) {
        threads.emplace_back([&, rank] {
            control::Observer* observer =
                counters == nullptr ? nullptr : &(*counters)[static_cast<std::size_t>(rank)];
            const auto c = comm::makeDirectCommunicator(*segment, rank, observer, "threads");
            gpt::Gpt model(config.model);
            const auto partitioning = training::makePartitioning(
                config, training::placementOf(config, at::kCPU), model, *c, observer);
            partitioning->load([&](const kernels::Parameter& p) {
                return gpt::initialValue(p, config.model, config.seed);
            });
            training::BatchSource batches;
            batches.stepTokens =
                config.batch * config.model.context * config.ranks * config.accumulate;
            batches.training = [&](std::int32_t step, std::int32_t) {
                return patternBatch(config, step, rank);
            };
            training::Trainer trainer(config, at::kCPU, model, *partitioning, *c, batches,
                                      observer);
            for (std::int32_t step = 0; step < config.steps; ++step) {
                const auto result = trainer.step(
                    step, false,
                    step + 1 < config.steps ? training::Next::kStep : training::Next::kOther);
                ASSERT_TRUE(result) << result.error().message;
                if (rank == 0) losses.push_back(result->loss);
            }
            c->barrier({}).wait();
        });
    }
    for (auto& thread : threads) thread.join();
    return losses;
}

TEST(Zero3, StepsContainExactlyWhatTheorySays) {
    for (int prefetch : {0, 1, 2, 5}) {
        control::RunConfig config = tinyRun(2);
        config.prefetch = prefetch;
        std::vector<Counter> counters(2);
        trainTiny(config, &counters);
        const auto expected = theory::stepContents(config);
        for (const Counter& counter : counters) {
            EXPECT_EQ(counter.contents.gathers, config.steps * expected.gathers);
            EXPECT_EQ(counter.contents.reductions, config.steps * expected.reductions);
            EXPECT_EQ(counter.contents.phases, config.steps * expected.phases);
        }
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
    static control::RunConfig run(int ranks, int accumulate) {
        control::RunConfig config = tinyRun(ranks);
        config.accumulate = accumulate;
        config.reshardAfterForward = GetParam().reshardAfterForward;
        config.keepGathered = GetParam().keepGathered;
        config.keepGradients = GetParam().keepGradients;
        config.recomputeEvery = GetParam().recomputeEvery;
        return config;
    }
};

TEST_P(EveryZero3, CommunicatesWhatTheorySays) {
    for (const int accumulate : {1, 3}) {
        const control::RunConfig config = run(2, accumulate);
        std::vector<Counter> counters(2);
        trainTiny(config, &counters);
        const auto expected = theory::stepContents(config);
        for (const Counter& counter : counters) {
            EXPECT_EQ(counter.contents.gathers, config.steps * expected.gathers);
            EXPECT_EQ(counter.contents.reductions, config.steps * expected.reductions);
            EXPECT_EQ(counter.contents.phases, config.steps * expected.phases);
            EXPECT_EQ(counter.moved(config), config.steps * theory::trafficPerStep(config).count);
        }
    }
}

TEST_P(EveryZero3, FollowsThePlainOne) {
    for (const int accumulate : {1, 3}) {
        control::RunConfig plain = tinyRun(2);
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
    control::RunConfig config = tinyRun(2);
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

/// A weight that is not a number, in one block; every rank learns where it showed first.
TEST(NotFinite, NamesMicroStepAndFirstLayer) {
    for (const auto& [tensor, phase, layer] :
         {std::tuple{"blocks.1.fc.weight", Phase::kForward, LayerIndex{1}},
          std::tuple{"wpe.weight", Phase::kForward, kRootLayer},
          std::tuple{"ln_f.weight", Phase::kHead, kRootLayer}}) {
        const control::RunConfig config = tinyRun(2);
        test::runRanks(2, [&](comm::Communicator& communicator) {
            gpt::Gpt model(config.model);
            const auto partitioning = training::makePartitioning(
                config, training::placementOf(config, at::kCPU), model, communicator, nullptr);
            partitioning->load([&](const kernels::Parameter& p) {
                at::Tensor value = gpt::initialValue(p, config.model, config.seed);
                if (p.name == tensor) value.flatten()[3] = std::nan("");
                return value;
            });
            training::BatchSource batches;
            batches.stepTokens =
                config.batch * config.model.context * config.ranks * config.accumulate;
            batches.training = [&](std::int32_t step, std::int32_t) {
                return patternBatch(config, step, communicator.rank());
            };
            training::Trainer trainer(config, at::kCPU, model, *partitioning, communicator, batches,
                                      nullptr);
            const auto result = trainer.step(0, false, training::Next::kStep);
            ASSERT_TRUE(result) << result.error().message;
            EXPECT_FALSE(std::isfinite(result->loss));
            const auto place = trainer.findNonFinite(0);
            ASSERT_TRUE(place) << place.error().message;
            EXPECT_EQ(place->step, 0);
            EXPECT_EQ(place->microStep, 0);
            EXPECT_EQ(place->phase, phase) << tensor;
            EXPECT_EQ(place->layer, layer) << tensor;
        });
    }
}

/// fp16: a scale that overflows is halved until it does not, and training goes on.
TEST(LossScale, OverflowingStepsAreSkipped) {
    control::RunConfig config = tinyRun(2);
    config.precision = control::Precision::kFloat16;
    config.lossScale = 1e9;  // far above what fp16 holds
    config.steps = 40;
    std::mutex mutex;
    std::vector<training::StepResult> results;
    test::runRanks(2, [&](comm::Communicator& communicator) {
        gpt::Gpt model(config.model);
        const auto partitioning = training::makePartitioning(
            config, training::placementOf(config, at::kCPU), model, communicator, nullptr);
        partitioning->load([&](const kernels::Parameter& p) {
            return gpt::initialValue(p, config.model, config.seed);
        });
        training::BatchSource batches;
        batches.stepTokens = config.batch * config.model.context * config.ranks * config.accumulate;
        batches.training = [&](std::int32_t, std::int32_t) {
            return patternBatch(config, 0, communicator.rank());
        };
        training::Trainer trainer(config, at::kCPU, model, *partitioning, communicator, batches,
                                  nullptr);
        for (std::int32_t step = 0; step < config.steps; ++step) {
            const auto result = trainer.step(step, false, training::Next::kOther);
            ASSERT_TRUE(result) << result.error().message;
            const std::lock_guard lock(mutex);
            if (communicator.rank() == 0) results.push_back(*result);
        }
        EXPECT_LT(trainer.progress().updates, config.steps);
        EXPECT_GT(trainer.progress().updates, 10);
    });
    ASSERT_EQ(results.size(), 40u);
    EXPECT_TRUE(results.front().skipped);
    EXPECT_FALSE(results.back().skipped);
    // A skipped step leaves the weights: the same batch has the same loss.
    EXPECT_EQ(results[1].loss, results[0].loss);
    EXPECT_LT(results.back().loss, results.front().loss);
    EXPECT_EQ(results[1].lossScale, results[0].lossScale / 2);
}

TEST(Zero3, LossFallsAndStartsNearUniform) {
    control::RunConfig config = tinyRun(2);
    config.steps = 30;
    config.warmupSteps = 2;
    config.learningRate = 3e-3;
    const auto losses = trainTiny(config, nullptr);
    EXPECT_NEAR(losses.front(), std::log(64.0), 0.1);
    EXPECT_LT(losses.back(), losses.front() - 0.5);
}

TEST(Ddp, SendsBucketsOfTheirSize) {
    control::RunConfig config = tinyRun(2);
    config.model.hidden = 256;
    config.model.heads = 4;
    config.strategy = control::Strategy::kDdpBucket;
    config.bucketMegabytes = 1;
    std::vector<Counter> counters(2);
    const auto losses = trainTiny(config, &counters);
    EXPECT_EQ(theory::stepContents(config).reductions, 7);  // 6.4 MB of gradients
    EXPECT_EQ(counters[0].contents.reductions, 7 * config.steps);
    config.strategy = control::Strategy::kDdpFlat;
    EXPECT_EQ(trainTiny(config, nullptr), losses);
}

/// What is left out comes later: after a few steps lossy gradients have led to about the same loss.
class LossyDdp : public testing::TestWithParam<control::Strategy> {
protected:
    static control::RunConfig run(control::Compression compression, double kept) {
        control::RunConfig config = tinyRun(2);
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
    const auto exact = trainTiny(run(control::Compression::kNone, 1), nullptr);
    const auto narrow = trainTiny(run(control::Compression::kBFloat16, 1), nullptr);
    const auto tenth = trainTiny(run(control::Compression::kTopK, 0.1), nullptr);
    const auto all = trainTiny(run(control::Compression::kTopK, 1), nullptr);
    EXPECT_EQ(exact.front(), tenth.front());
    EXPECT_NEAR(narrow.back(), exact.back(), 0.02 * exact.back());
    EXPECT_NE(narrow.back(), exact.back());
    EXPECT_LT(tenth.back(), exact.front() - 0.5);
    EXPECT_NE(tenth.back(), exact.back());
    // Everything kept is nothing lost; only the sums are taken in another order.
    for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(all[i], exact[i], 1e-5 * exact[i]);
}

TEST_P(LossyDdp, MovesWhatTheorySays) {
    for (const auto compression : {control::Compression::kBFloat16, control::Compression::kTopK}) {
        control::RunConfig config = run(compression, 0.03);
        config.steps = 2;
        std::vector<Counter> counters(2);
        trainTiny(config, &counters);
        const auto expected = theory::stepContents(config);
        EXPECT_EQ(counters[1].contents.reductions, config.steps * expected.reductions);
        EXPECT_EQ(counters[1].moved(config), config.steps * theory::trafficPerStep(config).count);
    }
}

INSTANTIATE_TEST_SUITE_P(Ddp, LossyDdp,
                         testing::Values(control::Strategy::kDdpNaive, control::Strategy::kDdpFlat,
                                         control::Strategy::kDdpOverlap,
                                         control::Strategy::kDdpBucket),
                         [](const auto& tested) {
                             std::string name(control::toWord(tested.param));
                             std::erase(name, '-');
                             return name;
                         });

class EveryStrategy : public testing::TestWithParam<control::Strategy> {
protected:
    static control::RunConfig run(int ranks, int accumulate) {
        control::RunConfig config = tinyRun(ranks);
        config.strategy = GetParam();
        if (GetParam() == control::Strategy::kHsdp) config.shardRanks = ranks / 2;
        config.accumulate = accumulate;
        return config;
    }
};

TEST_P(EveryStrategy, CommunicatesWhatTheorySays) {
    for (const int ranks : {2, 4}) {
        for (const int accumulate : {1, 3}) {
            const control::RunConfig config = run(ranks, accumulate);
            std::vector<Counter> counters(static_cast<std::size_t>(ranks));
            trainTiny(config, &counters);
            const auto expected = theory::stepContents(config);
            for (const Counter& counter : counters) {
                EXPECT_EQ(counter.contents.gathers, config.steps * expected.gathers);
                EXPECT_EQ(counter.contents.reductions, config.steps * expected.reductions);
                EXPECT_EQ(counter.contents.phases, config.steps * expected.phases);
                // To the byte: at these sizes no buffer is padded.
                EXPECT_EQ(counter.moved(config),
                          config.steps * theory::trafficPerStep(config).count);
            }
        }
    }
}

TEST_P(EveryStrategy, TrainsAsZero3Does) {
    for (const int ranks : {1, 2, 3}) {
        for (const int accumulate : {1, 3}) {
            control::RunConfig config = run(ranks, accumulate);
            const auto losses = trainTiny(config, nullptr);
            config.strategy = control::Strategy::kZero3;
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
                         testing::Values(control::Strategy::kDdpNaive, control::Strategy::kDdpFlat,
                                         control::Strategy::kDdpOverlap,
                                         control::Strategy::kDdpBucket, control::Strategy::kZero1,
                                         control::Strategy::kZero2, control::Strategy::kZero3),
                         [](const auto& tested) {
                             std::string name;
                             for (const char c : std::string(control::toWord(tested.param)))
                                 if (c != '-') name += c;
                             return name;
                         });

}  // namespace
}  // namespace shardscope
