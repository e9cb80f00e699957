// A wish to stop ends an evaluation at the next batch and a sample at the next token, on all ranks
// together, and leaves training as it was.
#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "engine/training/sampler.h"
#include "tests/engine/torch/tiny_run.h"

#include <gtest/gtest.h>

#include <atomic>

namespace shardscope::training {
namespace {

constexpr int kRanks = 2;

class Stop : public testing::TestWithParam<run::Strategy> {
protected:
    Stop() {
        kernels::useMatmulLibrary(kernels::MatmulLibrary::kMkl);
        kernels::useAttention(kernels::AttentionKind::kFlash);
    }
    /// Loss of the step after `between`.
    template <class Between>
    double lossAfter(const run::RunConfig& config, Between between) {
        double loss = 0;
        test::runRanks(kRanks, [&](comm::Communicator& c) {
            test::TinyRank rank(config, c);
            BatchSource batches = rank.batches();
            batches.validation = [&](std::int32_t i) { return batches.training(i, 0); };
            Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c, batches,
                            nullptr);
            ASSERT_TRUE(trainer.step(0, false, AfterStep::kPause));
            between(rank, trainer, c);
            const auto result = trainer.step(1, false, AfterStep::kPause);
            ASSERT_TRUE(result) << result.error().message;
            if (c.rank() == 0) loss = result->front().loss;
        });
        return loss;
    }
};

TEST_P(Stop, EndsAnEvaluationAtTheNextBatchOfAllRanks) {
    run::RunConfig config = test::tinyRun(GetParam(), kRanks);
    config.evaluateBatches = 1000;
    std::atomic<int> asked = 0;
    const auto stopped = [&](test::TinyRank&, Trainer& trainer, comm::Communicator& c) {
        int batch = 0;
        // Only one rank has heard of it yet.
        const auto loss = trainer.evaluate([&] {
            ++asked;
            return c.rank() == 1 && ++batch > 3;
        });
        ASSERT_FALSE(loss.has_value());
        EXPECT_EQ(loss.error().code, ErrorCode::kCancelled);
    };
    const double after = lossAfter(config, stopped);
    EXPECT_EQ(asked, 4 * kRanks) << "three batches, and none after the wish";
    EXPECT_EQ(after, lossAfter(config, [](auto&, auto&, auto&) {}));
}

TEST_P(Stop, OfBeforeAnEvaluationTrainsOnNothingOfIt) {
    run::RunConfig config = test::tinyRun(GetParam(), kRanks);
    const double after = lossAfter(config, [](auto&, Trainer& trainer, auto&) {
        EXPECT_FALSE(trainer.evaluate([] { return true; }).has_value());
    });
    EXPECT_EQ(after, lossAfter(config, [](auto&, auto&, auto&) {}));
}

TEST_P(Stop, EndsASampleAtTheNextToken) {
    const run::RunConfig config = test::tinyRun(GetParam(), kRanks);
    const std::vector<std::int64_t> prompt{3, 1, 4};
    std::atomic<int> asked = 0;
    const double after = lossAfter(config, [&](test::TinyRank& rank, auto&, comm::Communicator& c) {
        int token = 0;
        Sampling sampling{5000, 0, 1, [&] {
                              ++asked;
                              return c.rank() == 1 && ++token > 3;
                          }};
        const auto text = sample(rank.model, at::kCPU, *rank.partitioning, c, prompt, sampling);
        ASSERT_FALSE(text.has_value());
        EXPECT_EQ(text.error().code, ErrorCode::kCancelled);
    });
    EXPECT_EQ(asked, 4 * kRanks);
    EXPECT_EQ(after, lossAfter(config, [](auto&, auto&, auto&) {}));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Stop,
                         testing::Values(run::Strategy::kDdpFlat, run::Strategy::kZero2,
                                         run::Strategy::kZero3),
                         [](const auto& tested) {
                             std::string name = toWord(tested.param);
                             std::erase(name, '-');
                             return name;
                         });

}  // namespace
}  // namespace shardscope::training
