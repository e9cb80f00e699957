// A whole model trained with graphs of its micro-steps gives what it gives without, bit by bit: on
// a CUDA backend in host memory whose captures run nothing, and an NCCL of one rank.
#include "engine/training/session.h"
#include "tests/engine/kernels_cuda/fake_cuda.h"
#include "tests/engine/torch/fake_stream.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <future>

namespace shardscope {
namespace {

using training::AfterStep;

/// Operators on the compute stream of a fake device.
class ComputeStream final : public test::FakeCudaStream {
public:
    explicit ComputeStream(test::FakeDevice& device) : m_stream(device.createStream(false)) {
        device.computeOn(m_stream);
    }
    bool captures() override { return static_cast<test::FakeStream*>(m_stream.handle)->diverted(); }
    void queue(std::function<void()> work) override {
        test::FakeDevice::queue(m_stream.handle, std::move(work));
    }
    void drain() override {
        std::promise<void> done;
        queue([&] { done.set_value(); });
        done.get_future().wait();
    }

private:
    const control::DeviceStream m_stream;
};

struct Outcome {
    std::vector<double> losses, norms;
    std::vector<at::Tensor> parameters;
    std::vector<std::int64_t> launches;  ///< by step, not counting what graphs launch
};

run::RunConfig tiny(run::Strategy strategy) {
    run::RunConfig config;
    config.strategy = strategy;
    config.device = run::Device::kCuda;
    config.ranks = 1;
    config.batch = 2;
    config.accumulate = 3;
    config.steps = 4;
    config.model = {};
    config.model.vocabulary = 77;
    config.model.context = 8;
    config.model.layers = 2;
    config.model.heads = 2;
    config.model.hidden = 32;
    return config;
}

training::BatchSource batchesOf(const run::RunConfig& config) {
    training::BatchSource source;
    source.stepTokens = config.batch * config.model.context * config.accumulate;
    source.training = [&config](std::int32_t step, std::int32_t microStep) {
        const std::int64_t n = config.batch * config.model.context;
        const at::Tensor all = (at::arange(n + 1, at::kLong) * 5 + 7 * step + 3 * microStep)
                                   .remainder(config.model.vocabulary);
        return data::Batch{all.narrow(0, 0, n).view({config.batch, config.model.context}),
                           all.narrow(0, 1, n).contiguous()};
    };
    return source;
}

Outcome train(const run::RunConfig& config) {
    const at::Device place(at::kCUDA, 0);
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    ComputeStream stream(device);
    test::FakeCuda cuda(true, stream);
    control::DeviceClock clock(device);
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.device = place;
    const auto communicator = comm::makeNcclCommunicator(std::move(setup));
    gpt::Gpt model(config);
    const auto partitioning = training::makePartitioning(
        config, training::placementOf(config, place), model, *communicator, nullptr);
    partitioning->load([&](const kernels::Parameter& p) {
        return gpt::initialValue(p, config.model, config.seed);
    });
    training::Trainer trainer(config, place, model, *partitioning, *communicator, batchesOf(config),
                              nullptr, &device);
    Outcome outcome;
    for (std::int32_t step = 0; step < config.steps; ++step) {
        static_cast<void>(cuda.take());
        const auto results = trainer.step(
            step, false, step + 1 < config.steps ? AfterStep::kAnotherStep : AfterStep::kPause);
        if (!results) throw std::runtime_error(results.error().message);
        outcome.launches.push_back(cuda.take().total().launches);
        for (const training::StepResult& result : *results) {
            outcome.losses.push_back(result.loss);
            outcome.norms.push_back(result.gradientNorm);
        }
    }
    partitioning->visit([&](const kernels::Parameter&, const at::Tensor& values) {
        outcome.parameters.push_back(values.cpu().clone());
    });
    device.synchronizeAll();
    return outcome;
}

void expectTheSame(run::RunConfig config) {
    SCOPED_TRACE(toWord(config.strategy));
    const Outcome eager = train(config);
    config.graphs = true;
    const Outcome graphs = train(config);
    EXPECT_EQ(graphs.losses, eager.losses);
    EXPECT_EQ(graphs.norms, eager.norms);
    ASSERT_EQ(graphs.losses.size(), static_cast<std::size_t>(config.steps));
    EXPECT_NE(graphs.losses[0], graphs.losses[3]);
    ASSERT_EQ(graphs.parameters.size(), eager.parameters.size());
    for (std::size_t i = 0; i < eager.parameters.size(); ++i)
        EXPECT_TRUE(at::equal(graphs.parameters[i], eager.parameters[i])) << i;
    // Captured in the second and third step, replayed in the fourth: what is left is the optimizer
    // of four units, the step's sums, and a batch for each micro-step.
    EXPECT_LE(graphs.launches[3], 8 + config.accumulate);
    EXPECT_GT(eager.launches[3], 50 * config.accumulate);
}

class GraphTrainingOf : public testing::TestWithParam<run::Strategy> {};

TEST_P(GraphTrainingOf, GivesWhatItGivesWithout) {
    expectTheSame(tiny(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Strategies, GraphTrainingOf,
                         testing::Values(run::Strategy::kSingle, run::Strategy::kDdpBucket,
                                         run::Strategy::kZero2, run::Strategy::kZero3));

TEST(GraphTraining, GivesTheSameInBf16WithRecomputationAndOneMicroStep) {
    run::RunConfig config = tiny(run::Strategy::kZero3);
    config.precision = run::Precision::kBFloat16;
    config.recomputeEvery = 1;
    config.accumulate = 1;
    expectTheSame(config);
}

}  // namespace
}  // namespace shardscope
