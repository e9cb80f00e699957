// A run that is stopped and resumed follows the same losses, at any number of ranks and strategy.
#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/theory.h"
#include "engine/training/checkpointing.h"
#include "engine/training/session.h"
#include "tests/engine/torch/rank_threads.h"
#include "tests/support/temporary_folder.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <mutex>

namespace shardscope {
namespace {

constexpr std::int32_t kSteps = 6;
constexpr std::int64_t kRows = 4;  ///< of a step, over all ranks

struct Segment {
    run::Strategy strategy;
    int ranks = 1;
    std::int32_t pieces = 1;  ///< of the vocabulary
    std::int32_t tensor = 1;
};

run::RunConfig runOf(const Segment& segment, const std::string& folder) {
    run::RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.strategy = segment.strategy;
    config.ranks = segment.ranks;
    if (segment.strategy == run::Strategy::kHsdp) config.shardRanks = segment.ranks / 2;
    config.tensor = segment.tensor;
    config.sequence = segment.tensor > 1;
    config.batch = static_cast<std::int32_t>(kRows / run::replicasOf(config));
    config.steps = kSteps;
    config.learningRate = 3e-3;
    config.warmupSteps = 2;
    config.checkpoint = folder;
    config.vocabularyPieces = segment.pieces;
    return config;
}

/// The same rows whatever the number of ranks.
data::Batch rowsOf(const run::RunConfig& config, std::int32_t step, int rank) {
    const std::int64_t context = config.model.context;
    data::Batch batch{at::empty({config.batch, context}, at::kLong),
                      at::empty({config.batch * context}, at::kLong)};
    for (std::int64_t i = 0; i < batch.tokens.numel(); ++i) {
        const std::int64_t row = rank * config.batch + i / context;
        const std::int64_t value = (row * 7 + i % context * 5 + step * 3) % 64;
        batch.tokens.data_ptr<std::int64_t>()[i] = value;
        batch.targets.data_ptr<std::int64_t>()[i] = (value + 5) % 64;
    }
    return batch;
}

/// Steps until `end` (from a checkpoint, if there is one), then a checkpoint.
std::vector<double> trainUntil(const Segment& segment, const std::string& folder,
                               std::int32_t end) {
    const run::RunConfig config = runOf(segment, folder);
    std::mutex mutex;
    std::vector<double> losses;
    test::runRanks(segment.ranks, [&](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        const training::RankGroups groups(config, at::kCPU, communicator, nullptr);
        gpt::Gpt model(config, groups.tensor());
        const auto partitioning = training::makePartitioning(
            config, training::placementOf(config, at::kCPU, rank), model, groups.data(), nullptr);
        training::BatchSource batches;
        batches.stepTokens = kRows * config.model.context;
        batches.training = [&](std::int32_t step, std::int32_t) {
            return rowsOf(config, step, run::placeOf(config, rank).replica);
        };
        training::Trainer trainer(config, at::kCPU, model, *partitioning, communicator, batches,
                                  nullptr, nullptr, groups.tensor());
        const auto from = checkpoint::Checkpoint::open(folder);
        if (from) {
            const auto progress = training::readCheckpoint(*from, *partitioning, communicator);
            ASSERT_TRUE(progress) << progress.error().message;
            trainer.resume(*progress);
        } else {
            partitioning->load([&](const kernels::Parameter& p) {
                return gpt::initialValue(p, config.model, config.seed);
            });
        }
        for (std::int32_t step = trainer.progress().nextStep; step < end; ++step) {
            const auto next =
                step + 1 < end ? training::AfterStep::kAnotherStep : training::AfterStep::kPause;
            const auto result = trainer.step(step, false, next);
            ASSERT_TRUE(result) << result.error().message;
            const std::lock_guard lock(mutex);
            if (communicator.rank() == 0) losses.push_back(result->front().loss);
        }
        const auto path = training::writeCheckpoint(config, trainer.progress(), model,
                                                    *partitioning, communicator);
        ASSERT_TRUE(path) << path.error().message;
    });
    return losses;
}

class Resumed : public testing::TestWithParam<std::pair<Segment, Segment>> {};

TEST_P(Resumed, FollowsTheSameLosses) {
    const auto& [first, second] = GetParam();
    const test::TemporaryFolder unbroken;
    const test::TemporaryFolder broken;
    const auto expected = trainUntil({run::Strategy::kSingle, 1}, unbroken.path(), kSteps);
    auto losses = trainUntil(first, broken.path(), kSteps / 2);
    for (const double loss : trainUntil(second, broken.path(), kSteps)) losses.push_back(loss);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], expected[i], 2e-6 * expected[i]) << "step " << i;
}

std::vector<std::pair<Segment, Segment>> pairs() {
    std::vector<std::pair<Segment, Segment>> all;
    for (const run::Strategy strategy : kAll<run::Strategy>) {
        const int ranks = strategy == run::Strategy::kSingle ? 1 : 2;
        all.push_back({{strategy, ranks}, {strategy, ranks}});
        all.push_back({{strategy, ranks}, {run::Strategy::kZero3, 4}});
        all.push_back({{run::Strategy::kZero3, 4}, {strategy, ranks}});
    }
    const auto zero3 = run::Strategy::kZero3;
    all.push_back({{zero3, 2, 3}, {zero3, 2, 3}});
    all.push_back({{zero3, 2, 3}, {run::Strategy::kHsdp, 4, 2}});
    all.push_back({{run::Strategy::kHsdp, 4, 2}, {run::Strategy::kDdpFlat, 2}});
    all.push_back({{run::Strategy::kZero1, 2}, {zero3, 4, 5}});
    for (const Segment& shared :
         {Segment{zero3, 4, 1, 2}, Segment{zero3, 4, 3, 2},
          Segment{run::Strategy::kSingle, 2, 1, 2}, Segment{run::Strategy::kZero1, 4, 1, 2}}) {
        all.push_back({shared, shared});
        all.push_back({shared, {zero3, 2}});
        all.push_back({{zero3, 2}, shared});
    }
    all.push_back({{zero3, 2, 3}, {run::Strategy::kDdpBucket, 4, 1, 2}});
    return all;
}

std::string nameOf(const Segment& segment) {
    std::string name;
    for (const char c : std::string(toWord(segment.strategy)))
        if (c != '-') name += c;
    name += std::to_string(segment.ranks);
    if (segment.tensor > 1) name += "Tensor" + std::to_string(segment.tensor);
    return segment.pieces > 1 ? name + "Pieces" + std::to_string(segment.pieces) : name;
}

INSTANTIATE_TEST_SUITE_P(Runs, Resumed, testing::ValuesIn(pairs()), [](const auto& tested) {
    return nameOf(tested.param.first) + "To" + nameOf(tested.param.second);
});

/// A rank that resumes is bit for bit where it was.
TEST(Resume, OnTheSameRanksIsExact) {
    for (const auto strategy :
         {run::Strategy::kZero3, run::Strategy::kZero1, run::Strategy::kDdpBucket}) {
        const test::TemporaryFolder unbroken;
        const test::TemporaryFolder broken;
        const Segment segment{strategy, 2};
        const auto expected = trainUntil(segment, unbroken.path(), kSteps);
        auto losses = trainUntil(segment, broken.path(), kSteps / 2);
        for (const double loss : trainUntil(segment, broken.path(), kSteps)) losses.push_back(loss);
        EXPECT_EQ(losses, expected);
    }
}

TEST(Resume, ARankThatCannotWriteEndsTheCheckpointForAll) {
    run::RunConfig config = runOf({run::Strategy::kZero3, 2}, "/dev/null/nowhere");
    std::mutex mutex;
    std::vector<std::string> sentences;
    test::runRanks(2, [&](comm::Communicator& communicator) {
        gpt::Gpt model(config);
        const auto partitioning = training::makePartitioning(
            config, training::placementOf(config, at::kCPU), model, communicator, nullptr);
        const auto done = training::writeCheckpoint(config, {}, model, *partitioning, communicator);
        ASSERT_FALSE(done);
        const std::lock_guard lock(mutex);
        sentences.push_back(done.error().message);
    });
    EXPECT_EQ(sentences.size(), 2u);
}

}  // namespace
}  // namespace shardscope
