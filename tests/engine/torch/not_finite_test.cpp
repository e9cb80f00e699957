// What is not a number, and what does not fit into fp16.
#include "tests/engine/torch/counted_run.h"

#include <cmath>
#include <tuple>

namespace shardscope {
namespace {

using namespace test;

/// A weight that is not a number, in one block; every rank learns where it showed first.
TEST(NotFinite, NamesMicroStepAndFirstLayer) {
    for (const auto& [tensor, phase, layer] :
         {std::tuple{"blocks.1.fc.weight", Phase::kForward, LayerIndex{1}},
          std::tuple{"wpe.weight", Phase::kForward, kRootLayer},
          std::tuple{"ln_f.weight", Phase::kHead, kRootLayer}}) {
        const run::RunConfig config = tinyRun(2);
        test::runRanks(2, [&](comm::Communicator& communicator) {
            gpt::Gpt model(config);
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
            const auto result = trainer.step(0, false, training::AfterStep::kAnotherStep);
            ASSERT_TRUE(result) << result.error().message;
            EXPECT_FALSE(std::isfinite(result->front().loss));
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
    run::RunConfig config = tinyRun(2);
    config.precision = run::Precision::kFloat16;
    config.lossScale = 1e9;  // far above what fp16 holds
    config.steps = 40;
    std::mutex mutex;
    std::vector<training::StepResult> results;
    test::runRanks(2, [&](comm::Communicator& communicator) {
        gpt::Gpt model(config);
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
            const auto result = trainer.step(step, false, training::AfterStep::kPause);
            ASSERT_TRUE(result) << result.error().message;
            const std::lock_guard lock(mutex);
            if (communicator.rank() == 0) results.push_back(result->front());
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
}  // namespace
}  // namespace shardscope
