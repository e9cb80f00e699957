#include "engine/tokens/tokenizer.h"

#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/vocabulary.h"
#include "tests/engine/tokens/brute_force.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace shardscope::tokens {
namespace {

using testing::ElementsAre;

/// Bytes, and the merges l+o, lo+w, e+r, " "+low, n+e, ne+w: ids 256 to 261.
Vocabulary lowVocabulary() {
    Vocabulary v;
    for (const std::uint8_t byte : alphabetOrder())
        v.tokens.emplace_back(1, static_cast<char>(byte));
    const auto id = [&](const std::string& bytes) {
        const auto found = std::find(v.tokens.begin(), v.tokens.end(), bytes);
        return static_cast<std::uint32_t>(found - v.tokens.begin());
    };
    const std::pair<const char*, const char*> merges[] = {{"l", "o"},   {"lo", "w"}, {"e", "r"},
                                                          {" ", "low"}, {"n", "e"},  {"ne", "w"}};
    for (const auto& [left, right] : merges) {
        const auto next = static_cast<std::uint32_t>(v.tokens.size());
        v.merges.push_back({id(left), id(right), next});
        v.tokens.push_back(std::string(left) + right);
    }
    v.tokens.push_back(kEndOfText);
    v.added.push_back({kEndOfText, 262, true});
    return v;
}

/// Random merges of random tokens, also ones that no training would make.
Vocabulary randomVocabulary(Random& random) {
    Vocabulary v = bruteForceTrain(randomText(random, 300), 257 + random() % 40, 1);
    v.tokens.pop_back();
    v.added.clear();
    for (std::size_t i = random() % 20; i > 0; --i) {
        const auto pick = [&] { return static_cast<std::uint32_t>(random() % v.tokens.size()); };
        const Merge merge{pick(), pick(), static_cast<std::uint32_t>(v.tokens.size())};
        const auto same = [&](const Merge& m) {
            return m.left == merge.left && m.right == merge.right;
        };
        if (std::any_of(v.merges.begin(), v.merges.end(), same)) continue;
        v.tokens.push_back(v.tokens[merge.left] + v.tokens[merge.right]);
        const std::size_t rank = random() % (v.merges.size() + 1);
        v.merges.insert(v.merges.begin() + static_cast<std::ptrdiff_t>(rank), merge);
    }
    return v;
}

Tokenizer made(Vocabulary vocabulary) {
    auto tokenizer = Tokenizer::make(std::move(vocabulary), "test");
    EXPECT_THAT(tokenizer, test::IsOk());
    return std::move(*tokenizer);
}

TEST(Tokenizer, MergesByLowestRank) {
    const Tokenizer tokenizer = made(lowVocabulary());
    // '!' is id 0, so a letter's id is its code less 33; the space's is 220, as in GPT-2.
    EXPECT_THAT(encoded(tokenizer, "low lower"), ElementsAre(257, 259, 258));
    EXPECT_THAT(encoded(tokenizer, "newer"), ElementsAre(261, 258));
    EXPECT_THAT(encoded(tokenizer, "loner"), ElementsAre(256, 'n' - 33, 258));  // e+r before n+e
    EXPECT_THAT(encoded(tokenizer, " new"), ElementsAre(220, 261));
    EXPECT_THAT(encoded(tokenizer, ""), ElementsAre());
}

TEST(Tokenizer, EqualsBruteForceOnRandomVocabulariesAndTexts) {
    Random random(3);
    for (int i = 0; i < 60; ++i) {
        const Tokenizer tokenizer = made(randomVocabulary(random));
        // One for all, and few pieces remembered, so that they take each other's place.
        Encoder encoder(tokenizer, AddedTokens::kRecognised, 16);
        for (int j = 0; j < 20; ++j) {
            const std::string text = randomBytes(random, random() % 300);
            std::vector<std::uint32_t> ids;
            encoder.encode(text, ids);
            ASSERT_EQ(ids, bruteForceEncode(tokenizer.vocabulary(), text)) << text;
        }
    }
}

TEST(Tokenizer, DecodesToTheBytesEncodedWhateverTheyAre) {
    Random random(4);
    const Tokenizer tokenizer = made(lowVocabulary());
    for (int i = 0; i < 2000; ++i) {
        std::string text = randomBytes(random, random() % 300);
        if (i % 3 == 0) text.insert(random() % (text.size() + 1), kEndOfText);
        const auto decoded = tokenizer.decode(encoded(tokenizer, text));
        ASSERT_THAT(decoded, test::IsOk());
        ASSERT_EQ(*decoded, text);
    }
}

TEST(Tokenizer, LongPiecesTakeNoQuadraticTime) {
    const Tokenizer tokenizer = made(lowVocabulary());
    std::string text;
    for (int i = 0; i < 500'000; ++i) text += "low";  // one piece; squared, it would never end
    EXPECT_EQ(encoded(tokenizer, text), std::vector<std::uint32_t>(500'000, 257));
}

TEST(Tokenizer, AddedTokensAreRecognisedOrText) {
    const Tokenizer tokenizer = made(lowVocabulary());
    EXPECT_EQ(tokenizer.endOfText(), 262u);
    EXPECT_THAT(encoded(tokenizer, "low<|endoftext|>low"), ElementsAre(257, 262, 257));
    std::vector<std::uint32_t> ids;
    Encoder(tokenizer, AddedTokens::kAsText).encode("<|endoftext|>", ids);
    EXPECT_GT(ids.size(), 8u);
    EXPECT_EQ(*tokenizer.decode(ids), kEndOfText);
}

TEST(Tokenizer, TheLongestAddedTokenThatBeginsFirstIsTaken) {
    Vocabulary v = lowVocabulary();
    for (const char* text : {"  ", "    ", "end"}) {
        v.added.push_back({text, static_cast<std::uint32_t>(v.tokens.size()), false});
        v.tokens.emplace_back(text);
    }
    const Tokenizer tokenizer = made(std::move(v));
    EXPECT_THAT(encoded(tokenizer, "     end"), ElementsAre(264, 220, 265));
}

TEST(Tokenizer, TextDividedAtABoundaryHasTheSameIds) {
    Random random(5);
    Vocabulary v = lowVocabulary();
    for (const char* text : {" a", "\n\n", "a\nb", "  "}) {
        v.added.push_back({text, static_cast<std::uint32_t>(v.tokens.size()), false});
        v.tokens.emplace_back(text);
    }
    const Tokenizer tokenizer = made(std::move(v));
    int divided = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::string text = randomBytes(random, 1 + random() % 200);
        const std::size_t at = tokenizer.boundary(text, random() % text.size());
        if (at < text.size()) ++divided;
        auto ids = encoded(tokenizer, text.substr(0, at));
        const auto rest = encoded(tokenizer, text.substr(at));
        ids.insert(ids.end(), rest.begin(), rest.end());
        ASSERT_EQ(ids, encoded(tokenizer, text)) << "divided at " << at << ": " << text;
    }
    EXPECT_GT(divided, 500);
}

TEST(Tokenizer, WhatDoesNotFitTogetherIsRefused) {
    const auto refused = [](auto change) {
        Vocabulary v = lowVocabulary();
        change(v);
        const auto tokenizer = Tokenizer::make(std::move(v), "odd.json");
        return tokenizer ? "" : tokenizer.error().message;
    };
    using testing::HasSubstr;
    EXPECT_EQ(refused([](Vocabulary&) {}), "");
    EXPECT_THAT(refused([](Vocabulary& v) { v.tokens[0] = ""; }),
                HasSubstr("odd.json has no token for the byte 0x21"));
    EXPECT_THAT(refused([](Vocabulary& v) { v.merges[2].right = 1000; }), HasSubstr("merge 3"));
    EXPECT_THAT(refused([](Vocabulary& v) { v.merges[1].result = 256; }), HasSubstr("merge 2"));
    EXPECT_THAT(refused([](Vocabulary& v) { v.merges.push_back(v.merges[0]); }),
                HasSubstr("merge 7 repeats merge 1"));
    EXPECT_THAT(refused([](Vocabulary& v) { v.added[0].id = 5; }), HasSubstr("not its own"));
    EXPECT_THAT(refused([](Vocabulary& v) { v.tokens.resize(kMostTokens + 1); }),
                HasSubstr("damaged"));
}

TEST(Tokenizer, IdsOfNoTokenAreNamedWhenDecoding) {
    const Tokenizer tokenizer = made(lowVocabulary());
    const std::uint32_t ids[] = {257, 263};
    EXPECT_THAT(tokenizer.decode(ids), test::FailsWith("token 1 is 263"));
}

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
