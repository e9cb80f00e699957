#include "engine/tokens/bpe_trainer.h"

#include "tests/engine/tokens/brute_force.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

namespace shardscope::tokens {
namespace {

Result<Vocabulary> trained(std::string_view text, TrainingOptions options) {
    PieceCounts pieces;
    pieces.add(text);
    return trainBpe(pieces, options);
}

TEST(BpeTrainer, EqualsBruteForceOnRandomTexts) {
    Random random(6);
    for (int i = 0; i < 150; ++i) {
        const std::string text = i % 2 == 0 ? randomText(random, 400) : randomBytes(random, 400);
        const TrainingOptions options{257 + random() % 60, 1 + static_cast<int>(random() % 3), {}};
        const auto vocabulary = trained(text, options);
        ASSERT_THAT(vocabulary, test::IsOk());
        ASSERT_EQ(*vocabulary, bruteForceTrain(text, options.vocabulary, options.leastCount))
            << text;
    }
}

TEST(BpeTrainer, EqualsBruteForceWherePairsOverlap) {
    Random random(7);
    for (int i = 0; i < 150; ++i) {
        std::string text;  // few letters, so that runs like aaaa and abab are common
        for (int j = 0; j < 300; ++j) text += "aab "[random() % 4];
        const auto vocabulary = trained(text, {300, 1, {}});
        ASSERT_THAT(vocabulary, test::IsOk());
        ASSERT_EQ(*vocabulary, bruteForceTrain(text, 300, 1)) << text;
    }
}

TEST(BpeTrainer, TakesTheSmallerIdsOfEquallyFrequentPairs) {
    const auto vocabulary = trained("cd ab cd ab", {259, 2, {}});
    ASSERT_THAT(vocabulary, test::IsOk());
    ASSERT_EQ(vocabulary->merges.size(), 2u);
    EXPECT_EQ(vocabulary->tokens[256], "ab");  // as often as cd, and a comes before c
    EXPECT_EQ(vocabulary->tokens[257], "cd");
    EXPECT_EQ(vocabulary->tokens[258], kEndOfText);
}

TEST(BpeTrainer, EndsWhenNoPairIsFrequentEnough) {
    const auto vocabulary = trained("abc abc xyz", {8192, 2, {}});
    ASSERT_THAT(vocabulary, test::IsOk());
    EXPECT_EQ(vocabulary->tokens.size(), 256u + 2 + 1);  // ab, abc
}

TEST(BpeTrainer, CountsOfSeveralTextsAdd) {
    PieceCounts first, second, both;
    first.add("low low");
    second.add("low lower");
    first.add(second);
    both.add("low low");
    both.add("low lower");
    EXPECT_EQ(first.counts(), both.counts());
    EXPECT_EQ(first.counts().at("low"), 2);
}

TEST(BpeTrainer, ImpossibleSizesAndAStopAreErrors) {
    EXPECT_THAT(trained("text", {256, 2, {}}), test::FailsAs(ErrorCode::kUsage));
    EXPECT_THAT(trained("text", {kMostTokens + 1, 2, {}}), test::FailsWith("--vocabulary"));
    const auto stop = [](std::size_t) { return false; };
    EXPECT_THAT(trained("text", {300, 1, stop}), test::FailsAs(ErrorCode::kCancelled));
}

}  // namespace
}  // namespace shardscope::tokens
