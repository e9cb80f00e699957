#include "engine/training/sampler.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "engine/training/batch_staging.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/tiny_run.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace shardscope::training {
namespace {

using Tokens = std::vector<std::int64_t>;

const Tokens kPrompt{3, 1, 4, 1, 5};

class Sampler : public testing::Test {
protected:
    Sampler() {
        kernels::useMatmulLibrary(kernels::MatmulLibrary::kMkl);
        kernels::useAttention(kernels::AttentionKind::kFlash);
    }
};

/// What every rank wrote.
std::vector<Tokens> written(const run::RunConfig& config, const Sampling& sampling) {
    std::vector<Tokens> texts;
    std::mutex mutex;
    test::runRanks(config.ranks, [&](comm::Communicator& c) {
        test::TinyRank rank(config, c);
        const auto text = sample(rank.model, at::kCPU, *rank.partitioning, c, kPrompt, sampling);
        const std::lock_guard lock(mutex);
        ASSERT_TRUE(text) << text.error().message;
        texts.push_back(*text);
    });
    return texts;
}

TEST_F(Sampler, WritesTheSameOnAnyNumberOfRanks) {
    const Sampling sampling{60, 0.8, 5};  // well beyond the context of 32
    const Tokens alone = written(test::tinyRun(run::Strategy::kSingle, 1), sampling).at(0);
    EXPECT_EQ(alone.size(), kPrompt.size() + 60);
    EXPECT_TRUE(std::equal(kPrompt.begin(), kPrompt.end(), alone.begin()));
    for (const run::Strategy strategy :
         {run::Strategy::kZero3, run::Strategy::kDdpFlat, run::Strategy::kZero2}) {
        const auto texts = written(test::tinyRun(strategy, 2), sampling);
        EXPECT_THAT(texts, testing::ElementsAre(alone, alone)) << toWord(strategy);
    }
    EXPECT_EQ(written(test::tinyRun(run::Strategy::kSingle, 1), sampling).at(0), alone);
    const Sampling other{60, 0.8, 6};
    EXPECT_NE(written(test::tinyRun(run::Strategy::kSingle, 1), other).at(0), alone);
}

TEST_F(Sampler, TemperatureZeroIsTheLikeliestTokenOfTheLastContext) {
    const run::RunConfig config = test::tinyRun(run::Strategy::kSingle, 1);
    test::runRanks(1, [&](comm::Communicator& c) {
        test::TinyRank rank(config, c);
        const auto text =
            sample(rank.model, at::kCPU, *rank.partitioning, c, kPrompt, {50, 0.0, 1});
        ASSERT_TRUE(text) << text.error().message;
        const at::NoGradGuard noGradient;
        for (std::size_t i = kPrompt.size(); i < text->size(); ++i) {
            const std::size_t begin = i > 32 ? i - 32 : 0;
            const Tokens window(text->begin() + static_cast<std::ptrdiff_t>(begin),
                                text->begin() + static_cast<std::ptrdiff_t>(i));
            const at::Tensor tokens = at::tensor(window, at::kLong).unsqueeze(0);
            at::Tensor x = rank.model.embed(tokens);
            for (std::int64_t layer = 0; layer < 2; ++layer) x = rank.model.block(layer, x, 1);
            EXPECT_EQ((*text)[i], rank.model.logits(x, 0)[-1].argmax().item<std::int64_t>()) << i;
        }
    });
}

TEST_F(Sampler, LeavesTrainingAsItWas) {
    const run::RunConfig config = test::tinyRun(run::Strategy::kZero3, 2);
    const auto lossAfter = [&](bool samples) {
        double loss = 0;
        test::runRanks(2, [&](comm::Communicator& c) {
            test::TinyRank rank(config, c);
            Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c,
                            rank.batches(), nullptr);
            for (int step = 0; step < 3; ++step) {
                if (samples) {
                    const auto text =
                        sample(rank.model, at::kCPU, *rank.partitioning, c, kPrompt, {4, 1.0, 1});
                    ASSERT_TRUE(text) << text.error().message;
                }
                const auto result = trainer.step(step, false, training::AfterStep::kPause);
                ASSERT_TRUE(result) << result.error().message;
                if (c.rank() == 0) loss = result->front().loss;
            }
        });
        return loss;
    };
    EXPECT_EQ(lossAfter(true), lossAfter(false));
}

TEST_F(Sampler, RefusesWhatItCannotGoOnFrom) {
    const run::RunConfig config = test::tinyRun(run::Strategy::kSingle, 1);
    test::runRanks(1, [&](comm::Communicator& c) {
        test::TinyRank rank(config, c);
        const auto from = [&](const Tokens& prompt) {
            return sample(rank.model, at::kCPU, *rank.partitioning, c, prompt, {4, 1.0, 1});
        };
        EXPECT_EQ(from({}).error().code, ErrorCode::kUsage);
        EXPECT_THAT(from({}).error().message, testing::HasSubstr("prompt is empty"));
        EXPECT_EQ(from({64}).error().code, ErrorCode::kUsage);
        EXPECT_THAT(from({5, 64}).error().message, testing::HasSubstr("token 64"));
        EXPECT_EQ(from({-1}).error().code, ErrorCode::kUsage);
        rank.partitioning->load([&](const kernels::Parameter& p) {
            return at::full(p.shape, std::numeric_limits<float>::quiet_NaN());
        });
        EXPECT_EQ(from({1}).error().code, ErrorCode::kRank);
        EXPECT_THAT(from({1}).error().message, testing::HasSubstr("not finite"));
    });
}

TEST(DrawToken, TakesTheShareThatTheNumberFallsInto) {
    // Shares 1/8, 5/8, 2/8 at temperature 1.
    const std::vector<float> logits{std::log(1.0F), std::log(5.0F), std::log(2.0F)};
    EXPECT_EQ(drawToken(logits, 1.0, 0.0), 0);
    EXPECT_EQ(drawToken(logits, 1.0, 0.1249), 0);
    EXPECT_EQ(drawToken(logits, 1.0, 0.1251), 1);
    EXPECT_EQ(drawToken(logits, 1.0, 0.7499), 1);
    EXPECT_EQ(drawToken(logits, 1.0, 0.7501), 2);
    EXPECT_EQ(drawToken(logits, 1.0, 1 - 0x1p-53), 2);
    // At temperature 1/2 squares: 1/30, 25/30, 4/30.
    EXPECT_EQ(drawToken(logits, 0.5, 0.034), 1);
    EXPECT_EQ(drawToken(logits, 0.5, 0.866), 1);
    EXPECT_EQ(drawToken(logits, 0.5, 0.867), 2);
    EXPECT_EQ(drawToken(logits, 0.0, 0.999), 1);
    const std::vector<float> equal{2, 3, 3};
    EXPECT_EQ(drawToken(equal, 0.0, 0.999), 1);
    const std::vector<float> far{-1e30F, 0, 1e4F};
    EXPECT_EQ(drawToken(far, 0.01, 0.5), 2);
}

// Batches that are brought to a device ahead of their use, and what waits for what.

data::Batch batchOf(std::int64_t index) {
    return {at::full({2, 3}, index, at::kLong), at::full({6}, -index, at::kLong)};
}

class Staging : public testing::Test {
protected:
    test::FakeDevice m_device;
    std::vector<std::int64_t> m_made;
    BatchStaging m_staging{at::kCPU, m_device, [this](std::int64_t index) {
                               if (index == 13) throw std::runtime_error("no such batch");
                               m_made.push_back(index);
                               return batchOf(index);
                           }};
};

void expectBatch(const BatchStaging::Staged& staged, std::int64_t index) {
    EXPECT_EQ(staged.batch.tokens.sizes(), at::IntArrayRef({2, 3}));
    EXPECT_TRUE(staged.batch.tokens.eq(index).all().item<bool>());
    EXPECT_EQ(staged.batch.targets.sizes(), at::IntArrayRef({6}));
    EXPECT_TRUE(staged.batch.targets.eq(-index).all().item<bool>());
}

TEST_F(Staging, BringsEachBatchOnceAndOneAhead) {
    for (std::int64_t index = 0; index < 5; ++index) {
        const auto staged = m_staging.take(index, index < 4);
        expectBatch(staged, index);
        EXPECT_EQ(m_made.size(), static_cast<std::size_t>(std::min<std::int64_t>(index + 2, 5)));
    }
    EXPECT_EQ(m_made, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(Staging, LeavesABatchWhereItIsWhileTheNextOneComes) {
    const auto first = m_staging.take(0, true);
    expectBatch(first, 0);
    const auto second = m_staging.take(1, true);
    expectBatch(second, 1);
    EXPECT_NE(first.buffer, second.buffer);
    const auto third = m_staging.take(2, true);
    EXPECT_EQ(third.buffer, first.buffer);
    EXPECT_EQ(third.batch.tokens.data_ptr(), first.batch.tokens.data_ptr()) << "no new memory";
}

TEST_F(Staging, StartsAnewWhereABatchIsNotTheNext) {
    expectBatch(m_staging.take(0, true), 0);
    expectBatch(m_staging.take(6, true), 6);
    expectBatch(m_staging.take(7, false), 7);
    EXPECT_EQ(m_made, (std::vector<std::int64_t>{0, 1, 6, 7}));
}

TEST_F(Staging, ABatchThatCannotBeMadeFailsWhereItIsWanted) {
    expectBatch(m_staging.take(12, true), 12);
    EXPECT_THROW(static_cast<void>(m_staging.take(13, false)), std::runtime_error);
}

}  // namespace
}  // namespace shardscope::training
