#include "engine/run/theory/theory.h"

#include "storage/model/rank_facts.h"

#include <gtest/gtest.h>

namespace shardscope::theory {
namespace {

run::RunConfig shakespeare() {
    return {};
}

Bytes of(const MemoryByCategory& categories, MemoryCategory category) {
    return categories[static_cast<std::size_t>(category)];
}

TEST(Theory, CountsParametersOfTheNamedModels) {
    EXPECT_EQ(parameterCount(shakespeare().model), 10'774'272);
    const auto reference = run::findModelPreset("ref");
    ASSERT_TRUE(reference);
    EXPECT_EQ(parameterCount(*reference), 203'033'600);
    EXPECT_EQ(rootParameterCount(*reference) + reference->layers * blockParameterCount(*reference),
              203'033'600);
}

TEST(Theory, PalmFlopsOfTheReferenceModelAre1293Point7MegaflopAToken) {
    EXPECT_NEAR(palmFlopsPerToken(*run::findModelPreset("ref")), 1293.7e6, 0.05e6);
    EXPECT_NEAR(palmFlopsPerToken(shakespeare().model), 68.2e6, 0.05e6);
}

/// A plan asks for it hundreds of times, and the window waits for that to close. Block by block it
/// takes more than a minute.
TEST(Theory, OfTheDeepestModelIsCountedAtOnce) {
    for (const run::Strategy strategy : kAll<run::Strategy>) {
        run::RunConfig config = shakespeare();
        config.model.layers = 32'767;
        config.strategy = strategy;
        EXPECT_GT(of(memoryTheory(config), MemoryCategory::kActivation).count, 0);
    }
}

TEST(Theory, StatesAreSixteenBytesAParameterSplitOverZero3Ranks) {
    run::RunConfig config = shakespeare();
    EXPECT_EQ(stateTheory(config).count, 16 * 10'774'272 / 2);
    const MemoryByCategory memory = memoryTheory(config);
    EXPECT_EQ(
        (of(memory, MemoryCategory::kParameterShard) + of(memory, MemoryCategory::kGradientShard) +
         of(memory, MemoryCategory::kOptimizerState))
            .count,
        stateTheory(config).count);
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    EXPECT_EQ(stateTheory(config).count, 16 * 10'774'272);
    EXPECT_EQ(of(memoryTheory(config), MemoryCategory::kGatheredParameter).count, 0);
}

TEST(Theory, Bf16KeepsACopyOfTheParametersAndHalvesWhatIsComputedWith) {
    run::RunConfig config = shakespeare();
    const MemoryByCategory fp32 = memoryTheory(config);
    config.precision = run::Precision::kBFloat16;
    const MemoryByCategory bf16 = memoryTheory(config);
    EXPECT_EQ(stateTheory(config).count, 18 * 10'774'272 / 2);
    EXPECT_EQ(of(bf16, MemoryCategory::kParameterShard).count, 6 * 10'774'272 / 2);
    EXPECT_EQ(2 * of(bf16, MemoryCategory::kGatheredParameter).count,
              of(fp32, MemoryCategory::kGatheredParameter).count);
    EXPECT_EQ(of(bf16, MemoryCategory::kGradient), of(fp32, MemoryCategory::kGradient));
    config.reduceIn = run::GradientType::kBFloat16;
    EXPECT_EQ(2 * of(memoryTheory(config), MemoryCategory::kGradient).count,
              of(fp32, MemoryCategory::kGradient).count);
}

// By hand: 1,024 tokens, C 384, H 6, L 6; a block keeps its input, two norms' outputs, q k v,
// attention's output twice, the stream between and the inner products.
TEST(Theory, ActivationsOfABlockAreThirteenTimesItsWidth) {
    const auto memory = memoryTheory(shakespeare());
    EXPECT_EQ(of(memory, MemoryCategory::kActivation).count,
              4 * 1024 * (6 * (13 * 384 + 4 + 6) + 384));
    EXPECT_EQ(of(memoryTheory(shakespeare(), {false}), MemoryCategory::kActivation).count,
              4 * 1024 * (6 * (12 * 384 + 4) + 384));
}

TEST(Theory, RecomputedBlocksKeepTheirInputOnly) {
    run::RunConfig config = shakespeare();
    config.recomputeEvery = 1;
    // In backward one block is whole again, and its output is there twice.
    const std::int64_t block = 4 * 1024 * (12 * 384 + 4 + 6);
    EXPECT_EQ(of(memoryAt(config, Moment::kHead), MemoryCategory::kActivation).count,
              4 * 1024 * 7 * 384);
    EXPECT_EQ(of(memoryAt(config, Moment::kBackward), MemoryCategory::kActivation).count,
              4 * 1024 * 8 * 384 + block);
    config.recomputeEvery = 2;  // blocks 0, 2 and 4
    EXPECT_EQ(of(memoryAt(config, Moment::kHead), MemoryCategory::kActivation).count,
              4 * 1024 * 7 * 384 + 3 * block);
}

TEST(Theory, OutsideForwardAndBackwardOnlyStateIsHeld) {
    for (const run::Strategy strategy : kAll<run::Strategy>) {
        run::RunConfig config = shakespeare();
        config.strategy = strategy;
        if (strategy == run::Strategy::kSingle) config.ranks = 1;
        const auto before = memoryAt(config, Moment::kBeforeOptimizer);
        EXPECT_EQ(before, memoryAt(config, Moment::kInitialised));
        EXPECT_EQ(of(before, MemoryCategory::kActivation).count, 0);
        EXPECT_EQ(of(before, MemoryCategory::kGatheredParameter).count, 0);
        EXPECT_LE(total(before), total(memoryTheory(config)));
    }
}

// With a large vocabulary and a small batch the token table, made whole, is the peak of a run.
TEST(Theory, InitialValuesAreMadeParameterByParameter) {
    run::RunConfig config = shakespeare();
    config.model.vocabulary = 8'000;
    const auto loading = [&] {
        return of(memoryAt(config, Moment::kLoading), MemoryCategory::kTemporary).count;
    };
    const std::int64_t table = 4 * 8'000 * 384;
    config.vocabularyPieces = 1;
    EXPECT_EQ(loading(), table + 4 * rootParameterCount(config.model));
    config.vocabularyPieces = 4;  // the table is made whole for each piece of it
    const std::int64_t block = 4 * blockParameterCount(config.model);
    EXPECT_EQ(loading(), table + std::max(table / 4, block));
    config.strategy = run::Strategy::kZero2;  // values are written where they stay
    EXPECT_EQ(loading(), table);
    config.precision = run::Precision::kBFloat16;
    config.vocabularyPieces = 1;
    EXPECT_EQ(loading(), table + 4 * rootParameterCount(config.model));
    config.device = run::Device::kCuda;  // made on the host
    EXPECT_EQ(loading(), 0);
}

TEST(Theory, HsdpSharesStateInsideAGroup) {
    run::RunConfig config = shakespeare();
    config.strategy = run::Strategy::kHsdp;
    config.ranks = 8;
    config.shardRanks = 2;
    EXPECT_EQ(stateTheory(config).count, 16 * 10'774'272 / 2);
    // Gathers and reductions inside the group, an all-reduce of a half over the four groups.
    const std::int64_t root = rootParameterCount(config.model);
    const std::int64_t block = blockParameterCount(config.model);
    const std::int64_t all = root + 6 * block;
    EXPECT_EQ(trafficPerStep(config).count,
              4 * (2 * root + 11 * block + all) / 2 + 2 * 4 * all / 2 * 3 / 4);
}

/// Korthikanti et al., arXiv 2205.05198, table 2, without dropout's masks and with attention that
/// keeps no scores: of each row and block 3 values of C lie between layers, 9 inside them.
TEST(Theory, TensorGroupsDivideActivations) {
    run::RunConfig config;
    config.model = {"a", 512, 64, 2, 4, 256};
    config.strategy = run::Strategy::kSingle;
    config.precision = run::Precision::kBFloat16;
    config.ranks = 1;
    const auto activations = [&] {
        return memoryAt(config,
                        Moment::kBackward)[static_cast<std::size_t>(MemoryCategory::kActivation)]
            .count;
    };
    const std::int64_t rows = std::int64_t{config.batch} * config.model.context, hidden = 256;
    const std::int64_t statistics = 4 * 2 * 2, logSumExp = 4 * 4;
    const auto expected = [&](std::int64_t tensor, std::int64_t divided) {
        const std::int64_t block =
            (2 * 3 * hidden + statistics) / divided + (2 * 9 * hidden + logSumExp) / tensor;
        return rows * (2 * block + 3 * 2 * hidden / divided);
    };
    EXPECT_EQ(activations(), expected(1, 1));
    config.ranks = config.tensor = 2;
    EXPECT_EQ(activations(), expected(2, 1));
    config.sequence = true;
    EXPECT_EQ(activations(), expected(2, 2));
}

TEST(Theory, TensorGroupsDivideStateButNorms) {
    run::RunConfig config;
    config.model = {"a", 512, 64, 2, 4, 256};
    config.ranks = 4;
    config.tensor = 2;
    const std::int64_t norms = (2 * 4 + 2) * 256, positions = 64 * 256;
    const std::int64_t divided = parameterCount(config.model) - norms - positions;
    EXPECT_EQ(stateTheory(config).count, 16 * (divided / 2 + norms + positions) / 2);
    EXPECT_EQ(shardRanks(config), 2);
    EXPECT_EQ(tokensPerStep(config), 2 * config.batch * 64);
}

/// Megatron-LM: of N rows two all-reduces in each direction of a block; here one more for the
/// embedding and one below the head, and three statistics of each row.
TEST(Theory, TensorGroupsExchangeActivations) {
    run::RunConfig config;
    config.model = {"a", 512, 64, 3, 4, 256};
    config.strategy = run::Strategy::kSingle;
    config.ranks = config.tensor = 2;
    config.accumulate = 2;
    const std::int64_t rows = std::int64_t{config.batch} * 64, whole = rows * 256 * 4;
    const std::int64_t sums = 4 * 3 + 2, statistics = 2 * rows * 3 * 4;
    EXPECT_EQ(stepContents(config).exchanges, 2 * (sums + 1));
    EXPECT_EQ(trafficPerStep(config).count, 2 * (2 * sums * whole + statistics) / 2);
    config.sequence = true;
    // Gathered rows of two layers of a block once more in backward; norms by unit, once a step.
    EXPECT_EQ(stepContents(config).exchanges, 2 * (2 * sums + 2 * 3 + 1) + 4);
    EXPECT_EQ(trafficPerStep(config).count,
              (2 * ((2 * sums + 2 * 3) * whole + statistics) + 2 * (3 * 4 + 2) * 256 * 4) / 2);
}

TEST(Theory, AWholeHeadSetsThePeakWhenTheVocabularyIsLarge) {
    run::RunConfig config = shakespeare();
    config.vocabularyPieces = 1;
    const std::int64_t blocks = of(memoryTheory(config), MemoryCategory::kGatheredParameter).count;
    EXPECT_EQ(blocks, 4 * 2 * blockParameterCount(config.model));
    config.model.vocabulary = 50'257;
    EXPECT_EQ(of(memoryTheory(config), MemoryCategory::kGatheredParameter).count,
              4 * (rootParameterCount(config.model) + blockParameterCount(config.model)));
}

TEST(Theory, ARingSumsInBuffersOfItsOwn) {
    run::RunConfig config = shakespeare();
    config.transport = run::Transport::kGloo;
    const auto buffers = [&] {
        return of(memoryAt(config, Moment::kBackward), MemoryCategory::kCommunication).count;
    };
    const std::int64_t block = blockParameterCount(config.model);
    EXPECT_EQ(buffers(), 4 * block / 2);  // two pass nothing on
    EXPECT_EQ(of(memoryAt(config, Moment::kInitialised), MemoryCategory::kCommunication).count, 0);
    config.ranks = 4;
    EXPECT_EQ(buffers(), 2 * 4 * block / 4);
    config.precision = run::Precision::kBFloat16;
    config.reduceIn = run::GradientType::kBFloat16;
    EXPECT_EQ(buffers(), 2 * block);  // every rank's row
    config = shakespeare();
    config.transport = run::Transport::kGloo;
    config.strategy = run::Strategy::kHsdp;
    config.ranks = 4;
    config.shardRanks = 2;
    EXPECT_EQ(buffers(), 4 * block / 2 + 4 * block / 4);
    config.strategy = run::Strategy::kDdpFlat;
    config.shardRanks = 0;
    EXPECT_EQ(buffers(), 2 * 4 * parameterCount(config.model) / 4);
    config.ranks = 1;
    EXPECT_EQ(buffers(), 0);
}

TEST(Theory, RanksOfSeveralHostsSumInPiecesAndStageWhatTheyGather) {
    constexpr std::int64_t kPiece = std::int64_t{1} << 20;
    run::RunConfig config = shakespeare();
    config.ranks = 4;
    config.hosts = "a:2,b:2";
    const auto buffers = [&] {
        return of(memoryAt(config, Moment::kBackward), MemoryCategory::kCommunication).count;
    };
    const std::int64_t staging = 4 * kPiece;
    EXPECT_EQ(buffers(), 8 * kPiece + staging);
    EXPECT_EQ(of(memoryAt(config, Moment::kInitialised), MemoryCategory::kCommunication).count, 0);
    config.ranks = 6;
    config.hosts = "a:2,b:2,c:2";
    EXPECT_EQ(buffers(), 12 * kPiece + 2 * staging);
    config.strategy = run::Strategy::kDdpFlat;  // gathers nothing
    EXPECT_EQ(buffers(), 12 * kPiece);
    config.strategy = run::Strategy::kHsdp;  // gathers inside a host
    config.shardRanks = 2;
    EXPECT_EQ(buffers(), 12 * kPiece);
    config.hosts = "a:1,b:5";  // a ring of all
    config.strategy = run::Strategy::kZero3;
    config.shardRanks = 0;
    EXPECT_EQ(buffers(), 2 * 4 * blockParameterCount(config.model) / 6);
    config.hosts = "a:6";
    EXPECT_EQ(buffers(), 0);
}

TEST(Theory, OffloadMovesStateToTheHost) {
    run::RunConfig config = shakespeare();
    config.device = run::Device::kCuda;
    config.precision = run::Precision::kBFloat16;
    const std::int64_t share = parameterCount(config.model) / config.ranks;
    const auto device = [&](MemoryCategory category) {
        return of(memoryAt(config, Moment::kInitialised), category).count;
    };
    EXPECT_EQ(hostStateTheory(config).count, 0);
    EXPECT_EQ(device(MemoryCategory::kParameterShard), 6 * share);
    config.offload = run::Offload::kOptimizer;
    EXPECT_EQ(hostStateTheory(config).count, 12 * share);
    EXPECT_EQ(device(MemoryCategory::kParameterShard), 2 * share);
    EXPECT_EQ(device(MemoryCategory::kOptimizerState), 0);
    EXPECT_EQ(device(MemoryCategory::kGradientShard), 4 * share);
    config.offload = run::Offload::kGradients;
    EXPECT_EQ(hostStateTheory(config).count, 16 * share);
    EXPECT_EQ(device(MemoryCategory::kGradientShard), 0);
    EXPECT_EQ(stateTheory(config).count, 18 * share);
    // fp32 has a master beside its copy then.
    config.precision = run::Precision::kFloat32;
    EXPECT_EQ(stateTheory(config).count, 20 * share);
    EXPECT_EQ(device(MemoryCategory::kParameterShard), 4 * share);
}

/// By hand, of 2,048 tokens in bf16: the final norm's output, its gradient, and logits in rows of
/// 50,304 instead of 50,257; in backward the gradient of a block's output, the activation again and
/// its gradient in place.
TEST(Theory, AGpuPadsLogitsAndTakesGradientsInPlace) {
    run::RunConfig config;
    config.model = *run::findModelPreset("ref");
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    config.batch = 4;
    config.device = run::Device::kCuda;
    config.precision = run::Precision::kBFloat16;
    const auto temporary = [&](Moment moment) {
        return of(memoryAt(config, moment), MemoryCategory::kTemporary).count;
    };
    EXPECT_EQ(temporary(Moment::kHead), 2 * 2048 * (2 * 1024 + 50'304));
    EXPECT_EQ(temporary(Moment::kBackward), 2 * 2048 * (1024 + 2 * 4096));
    config.model.ffn = run::FeedForward::kSwiglu;
    EXPECT_EQ(temporary(Moment::kBackward), 2 * 2048 * (1024 + 3 * config.model.innerWidth()));
}

TEST(Theory, AHeadInPiecesDoesNot) {
    run::RunConfig config;
    config.model = *run::findModelPreset("ref");
    config.ranks = 8;
    config.batch = 4;
    config.precision = run::Precision::kBFloat16;
    const auto cut = memoryTheory(config);
    const std::int64_t block = blockParameterCount(config.model);
    // Two units, none more than 1.25 blocks, and what is left of the root.
    EXPECT_LE(of(cut, MemoryCategory::kGatheredParameter).count,
              2 * (block * 9 / 4 + config.model.context * config.model.hidden * 2));
    config.vocabularyPieces = 1;
    const auto whole = memoryTheory(config);
    // The table in bf16 and its gradient in fp32, less two pieces: about 250 MB.
    EXPECT_GT((total(whole) - total(cut)).count, 240'000'000);
    EXPECT_EQ(stateTheory(config).count, 18 * parameterCount(config.model) / 8);
}

/// By hand: of V = 100 rows in three pieces 34, 34 and 32.
TEST(Theory, TrafficOfPiecesIsThatOfTheirPasses) {
    run::RunConfig config = shakespeare();
    config.model.vocabulary = 100;
    config.vocabularyPieces = 3;
    const std::int64_t block = blockParameterCount(config.model);
    const std::int64_t row = config.model.hidden;
    const std::int64_t root = rootParameterCount(config.model) - 100 * row;
    // The embedding gathers all, the head all and all but the last again; gradients come twice.
    const std::int64_t gathered = 2 * root + 11 * block + (100 + 100 + 68) * row;
    const std::int64_t reduced = root + 6 * block + 200 * row;
    EXPECT_EQ(trafficPerStep(config).count, 4 * (gathered + reduced) / 2);
    EXPECT_EQ(stepContents(config).gathers, 2 + 11 + 3 + 5);
    EXPECT_EQ(stepContents(config).reductions, 1 + 6 + 6);
    EXPECT_EQ(stepContents(config).phases, 2 * (6 + 3) + 6 + 2);
    config.model.tieHead = false;
    EXPECT_EQ(trafficPerStep(config).count, 4 * (gathered + reduced) / 2);
    EXPECT_EQ(stepContents(config).gathers, 2 + 11 + 3 + 5);
    EXPECT_EQ(stepContents(config).reductions, 1 + 6 + 6);
}

TEST(Theory, TrafficOfTwoRanksIsHalfOfTwoGathersAndOneReduction) {
    run::RunConfig config = shakespeare();
    const std::int64_t root = rootParameterCount(config.model);
    const std::int64_t block = blockParameterCount(config.model);
    EXPECT_EQ(trafficPerStep(config).count, 4 * ((2 * root + 11 * block) + (root + 6 * block)) / 2);
    EXPECT_EQ(tokensPerStep(config), 2048);
}

TEST(MemoryTheory, KnowsBeforehandWhichKernelsARunMayChoose) {
    run::RunConfig config;
    const auto both = kernelChoices(config);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_TRUE(both[0].flashAttention) << "what keeps most comes first";
    EXPECT_GT(total(memoryTheory(config, both[0])), total(memoryTheory(config, both[1])));
    EXPECT_EQ(memoryTheory(config), memoryTheory(config, both[0]));
    config.attention = run::Attention::kBlocked;
    ASSERT_EQ(kernelChoices(config).size(), 1U);
    EXPECT_EQ(memoryTheory(config), memoryTheory(config, both[1]));
    config.attention = run::Attention::kFlash;
    EXPECT_EQ(memoryTheory(config), memoryTheory(config, both[0]));
    config.attention = run::Attention::kAuto;
    config.device = run::Device::kCuda;
    EXPECT_EQ(kernelChoices(config).size(), 1U);
}

/// Of 2,048 tokens of 32: a matrix of scores is 16 MiB, all that a block keeps 4.
TEST(MemoryTheory, CountsTheScoresOfBlockedAttention) {
    run::RunConfig config;
    config.model.context = 2048;
    config.model.hidden = 32;
    config.model.heads = 2;
    config.batch = 1;
    const auto choices = kernelChoices(config);
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_FALSE(choices[0].flashAttention) << "what holds most comes first";
    const auto temporary = [&](Moment moment) {
        return memoryAt(config, moment,
                        choices[0])[static_cast<std::size_t>(MemoryCategory::kTemporary)]
            .count;
    };
    constexpr std::int64_t kScores = 4 * 2048 * 2048, kHidden = 4 * 2048 * 32;
    EXPECT_EQ(temporary(Moment::kBackward), 7 * kHidden + 2 * kScores);
    EXPECT_EQ(temporary(Moment::kForward), 4 * kHidden + kScores);
}

}  // namespace
}  // namespace shardscope::theory
