// What a run's data and tokenizer come to, and encoding on several threads.
#include "engine/tokens/corpus.h"

#include "engine/tokens/encoder.h"
#include "engine/tokens/token_file.h"
#include "engine/tokens/tokenizer.h"
#include "tests/engine/tokens/brute_force.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

namespace shardscope::tokens {
namespace {

Tokenizer smallTokenizer() {
    auto tokenizer =
        Tokenizer::make(bruteForceTrain("the cat sat on the mat\nthe end\n", 270, 2), "small");
    EXPECT_THAT(tokenizer, test::IsOk());
    return std::move(*tokenizer);
}

std::vector<std::uint32_t> parallel(const Tokenizer& tokenizer, std::string_view text,
                                    unsigned threads) {
    std::vector<std::uint32_t> ids;
    const auto keep = [&](std::span<const std::uint32_t> more) -> Result<void> {
        ids.insert(ids.end(), more.begin(), more.end());
        return {};
    };
    ParallelEncoder encoder(tokenizer, AddedTokens::kRecognised, threads);
    EXPECT_THAT(encoder.encode(text, keep), test::IsOk());
    return ids;
}

TEST(ParallelEncoder, GivesTheSameTokensOnAnyNumberOfThreads) {
    const Tokenizer tokenizer = smallTokenizer();
    Random random(12);
    std::string text;  // blocks are 2 MiB: a few for each thread
    while (text.size() < (5U << 20)) text += randomBytes(random, 1000) + "\nthe cat <|endoftext|> ";
    auto expected = encoded(tokenizer, text);
    expected.push_back(*tokenizer.endOfText());
    for (const unsigned threads : {1U, 2U, 3U})
        EXPECT_TRUE(parallel(tokenizer, text, threads) == expected) << threads << " threads";
}

TEST(ParallelEncoder, AnErrorOfTheSinkEndsIt) {
    const Tokenizer tokenizer = smallTokenizer();
    ParallelEncoder encoder(tokenizer, AddedTokens::kRecognised, 2);
    const auto full = [](std::span<const std::uint32_t>) -> Result<void> {
        return failure(ErrorCode::kFailure, "full");
    };
    EXPECT_THAT(encoder.encode("the cat", full), test::FailsWith("full"));
}

class CorpusTest : public testing::Test {
protected:
    run::RunConfig config(const std::string& name, std::int64_t tokens) const {
        auto writer = TokenFileWriter::create(m_folder.file(name), TokenFormat::kNanoGpt, 2);
        const std::vector<std::uint32_t> ids(static_cast<std::size_t>(tokens), 9);
        EXPECT_THAT(writer->write(ids), test::IsOk());
        EXPECT_THAT(writer->finish(), test::IsOk());
        run::RunConfig c;
        c.data = m_folder.file(name);
        c.model.context = 16;
        c.heldBack = 0.5;
        return c;
    }
    test::TemporaryFolder m_folder;
};

TEST_F(CorpusTest, TheHeldBackEndIsTheValidationPart) {
    const auto corpus = loadCorpus(config("t.bin", 101));
    ASSERT_THAT(corpus, test::IsOk());
    EXPECT_EQ(corpus->training.size(), 51);
    EXPECT_EQ(corpus->validation.size(), 50);
    EXPECT_FALSE(corpus->unchecked);
}

TEST_F(CorpusTest, WithoutEvaluationNothingIsHeldBack) {
    run::RunConfig c = config("t.bin", 101);
    c.evaluateEvery = 0;
    EXPECT_EQ(loadCorpus(c)->training.size(), 101);
}

TEST_F(CorpusTest, WhatCanBeToldWithoutReadingIsToldAlike) {
    run::RunConfig c = config("short.bin", 20);
    EXPECT_THAT(checkCorpus(c), test::FailsWith("20 tokens, too few for a context of 16"));
    EXPECT_THAT(loadCorpus(c), test::FailsWith("20 tokens, too few for a context of 16"));
    c = config("t.bin", 101);
    c.tokenizer = m_folder.file("none.json");
    EXPECT_THAT(checkCorpus(c), test::FailsWith("does not exist"));
    c.tokenizer = kBytes;
    EXPECT_THAT(checkCorpus(c), test::IsOk());
    c.data = kSynthetic;
    EXPECT_THAT(checkCorpus(c), test::IsOk());
}

}  // namespace
}  // namespace shardscope::tokens
