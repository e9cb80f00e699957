// Token table and head in pieces: the same numbers as whole, and what theory says of them.
#include "engine/kernels/embedding.h"
#include "engine/training/sampler.h"
#include "tests/engine/torch/counted_run.h"
#include "tests/engine/torch/tiny_run.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace shardscope {
namespace {

using namespace test;

struct Cut {
    std::int32_t pieces;  ///< of 64 rows
    bool tied;
    run::Strategy strategy;
    int ranks;
};

class VocabularyPieces : public testing::TestWithParam<Cut> {
protected:
    static run::RunConfig run(std::int32_t accumulate) {
        run::RunConfig config = test::tinyRun(GetParam().ranks);
        config.model.tieHead = GetParam().tied;
        config.strategy = GetParam().strategy;
        if (config.strategy == run::Strategy::kHsdp) config.shardRanks = config.ranks / 2;
        config.accumulate = accumulate;
        config.vocabularyPieces = GetParam().pieces;
        return config;
    }
};

TEST_P(VocabularyPieces, CommunicateWhatTheorySays) {
    for (const std::int32_t accumulate : {1, 3}) {
        for (const std::int32_t prefetch : {0, 1, 3, 20}) {
            SCOPED_TRACE(testing::Message() << accumulate << ", prefetch " << prefetch);
            run::RunConfig config = run(accumulate);
            config.prefetch = prefetch;
            expectWhatTheorySays(config);
        }
    }
}

TEST_P(VocabularyPieces, LearnWhatTheWholeOneDoes) {
    for (const std::int32_t accumulate : {1, 3}) {
        run::RunConfig config = run(accumulate);
        config.learningRate = 3e-3;
        config.warmupSteps = 1;
        config.steps = 8;
        const auto losses = trainTiny(config, nullptr);
        EXPECT_EQ(trainTiny(config, nullptr), losses) << "twice";
        config.vocabularyPieces = 1;
        const auto expected = trainTiny(config, nullptr);
        ASSERT_EQ(losses.size(), expected.size());
        EXPECT_LT(expected.back(), expected.front() - 0.1);
        for (std::size_t i = 0; i < losses.size(); ++i)
            EXPECT_NEAR(losses[i], expected[i], 2e-6 * expected[i]) << i;
    }
}

constexpr auto kZero3 = run::Strategy::kZero3;
constexpr auto kHsdp = run::Strategy::kHsdp;
INSTANTIATE_TEST_SUITE_P(Cuts, VocabularyPieces,
                         testing::Values(Cut{2, true, kZero3, 2}, Cut{2, false, kZero3, 2},
                                         Cut{3, true, kZero3, 2}, Cut{3, false, kZero3, 2},
                                         Cut{5, true, kZero3, 1}, Cut{4, true, kHsdp, 4},
                                         Cut{4, false, kHsdp, 4}),
                         [](const auto& tested) {
                             return std::string(toWord(tested.param.strategy)) + "x" +
                                    std::to_string(tested.param.ranks) +
                                    (tested.param.tied ? "Tied" : "Untied") +
                                    std::to_string(tested.param.pieces);
                         });

/// A vocabulary that is large beside a block is cut without being asked, an untied one also into a
/// single piece each.
TEST(VocabularyPieces, AreChosenBySize) {
    run::RunConfig config = test::tinyRun(2);
    config.model.vocabulary = 640;
    for (const bool tied : {true, false}) {
        config.model.tieHead = tied;
        config.vocabularyPieces = 0;
        config.model.vocabulary = tied ? 640 : 320;
        EXPECT_EQ(gpt::Gpt(config).headUnits().size(), tied ? 2u : 1u);
        EXPECT_NE(gpt::Gpt(config).headUnits().front(), 0u);
        expectWhatTheorySays(config);
        const auto losses = trainTiny(config, nullptr);
        config.vocabularyPieces = 1;
        const auto whole = trainTiny(config, nullptr);
        for (std::size_t i = 0; i < losses.size(); ++i)
            EXPECT_NEAR(losses[i], whole[i], 2e-6 * whole[i]) << i;
    }
}

TEST(VocabularyPieces, ValidateSampleAndSearchAlike) {
    run::RunConfig config = test::tinyRun(kZero3, 2);
    std::vector<std::pair<double, std::vector<std::int64_t>>> found;
    for (const std::int32_t pieces : {1, 3}) {
        config.vocabularyPieces = pieces;
        test::runRanks(2, [&](comm::Communicator& c) {
            TinyRank rank(config, c);
            training::BatchSource batches = rank.batches();
            batches.validation = [&](std::int32_t i) { return batches.training(i, 0); };
            training::Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c,
                                      batches, nullptr);
            ASSERT_TRUE(trainer.step(0, false, training::AfterStep::kPause));
            const auto loss = trainer.evaluate();
            ASSERT_TRUE(loss) << loss.error().message;
            const std::vector<std::int64_t> prompt{3, 1, 4};
            const auto text =
                training::sample(rank.model, at::kCPU, *rank.partitioning, c, prompt, {20, 0, 1});
            ASSERT_TRUE(text) << text.error().message;
            const auto place = trainer.findNonFinite(0);
            ASSERT_TRUE(place) << place.error().message;
            EXPECT_EQ(place->microStep, -1);
            if (c.rank() == 0) found.emplace_back(*loss, *text);
        });
    }
    ASSERT_EQ(found.size(), 2u);
    EXPECT_NEAR(found[1].first, found[0].first, 1e-6 * found[0].first);
    EXPECT_EQ(found[1].second, found[0].second);
}

/// Embeddings by pieces are those of the whole table, whatever they are kept in.
TEST(VocabularyPieces, EmbedInEveryType) {
    const at::Tensor tokens = at::randint(0, 30, {3, 12}, at::kLong);
    const at::Tensor wte = at::randn({30, 8}), wpe = at::randn({16, 8}), dx = at::randn({36, 8});
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        const at::Tensor table = wte.to(type), positions = wpe.to(type);
        const at::Tensor x = kernels::positionsOf(positions, tokens, 8, table.options());
        const at::Tensor gradient = at::zeros({30, 8}), whole = at::zeros({30, 8});
        for (std::int64_t first = 0; first < 30; first += 13) {
            const std::int64_t rows = std::min<std::int64_t>(13, 30 - first);
            kernels::addRows(table.narrow(0, first, rows), first, tokens, x);
            kernels::addGradients(tokens, first, dx.to(type), gradient.narrow(0, first, rows));
        }
        kernels::addGradients(tokens, 0, dx.to(type), whole);
        EXPECT_TRUE(at::equal(x, kernels::embed(table, positions, tokens))) << type;
        EXPECT_TRUE(at::equal(gradient, whole)) << type;
        EXPECT_TRUE(at::equal(positions, wpe.to(type))) << "untouched";
    }
}

/// One row in the batch: x must not be a view of the table.
TEST(VocabularyPieces, LeaveThePositionsOfASingleRow) {
    const at::Tensor wpe = at::ones({4, 8});
    const at::Tensor tokens = at::zeros({1, 4}, at::kLong);
    const at::Tensor x = kernels::positionsOf(wpe, tokens, 8, wpe.options());
    kernels::addRows(at::ones({2, 8}), 0, tokens, x);
    EXPECT_TRUE(at::equal(x, at::full({4, 8}, 2.0F)));
    EXPECT_TRUE(at::equal(wpe, at::ones({4, 8})));
}

}  // namespace
}  // namespace shardscope
