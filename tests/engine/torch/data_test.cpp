#include "engine/data/dataset.h"
#include "engine/data/prefetch.h"
#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/token_file.h"
#include "engine/tokens/tokenizer.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

namespace shardscope::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Data : public testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) const {
        const fs::path path = m_folder.file(name);
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }
    std::string writeTokens(const std::string& name, const std::vector<std::uint32_t>& tokens) {
        auto writer =
            tokens::TokenFileWriter::create(m_folder.file(name), tokens::TokenFormat::kLlmc, 4);
        EXPECT_THAT(writer->write(tokens), test::IsOk());
        EXPECT_THAT(writer->finish(), test::IsOk());
        return m_folder.file(name);
    }
    /// A file whose tokens are their own places, so that a batch shows where it was read.
    std::string writeNumbered(std::int64_t count) {
        std::vector<std::uint32_t> tokens(static_cast<std::size_t>(count));
        std::iota(tokens.begin(), tokens.end(), 0U);
        return writeTokens("numbered.bin", tokens);
    }
    static run::RunConfig config(const std::string& data, double heldBack = 0.1,
                                 std::int64_t context = 16) {
        run::RunConfig c;
        c.data = data;
        c.heldBack = heldBack;
        c.model.context = context;
        return c;
    }
    static Dataset numbered(const std::string& path, std::int64_t context) {
        run::RunConfig c = config(path, 0.1, context);
        c.evaluateEvery = 0;
        c.model.vocabulary = 1 << 20;
        auto dataset = Dataset::load(c);
        EXPECT_THAT(dataset, test::IsOk());
        return std::move(*dataset);
    }
    std::string load(const std::string& path) const {
        const auto dataset = Dataset::load(config(path));
        return dataset ? "" : dataset.error().message;
    }
    test::TemporaryFolder m_folder;
};

/// Places of one run in the order of its steps; every row's first token.
std::vector<std::int64_t> startsOf(const Dataset& dataset, BatchPlace place, std::int64_t steps) {
    std::vector<std::int64_t> starts;
    for (place.step = 0; place.step < steps; ++place.step) {
        for (place.microStep = 0; place.microStep < place.accumulate; ++place.microStep) {
            for (place.rank = 0; place.rank < place.ranks; ++place.rank) {
                const HostBatch batch = dataset.trainingRows(place);
                for (std::int64_t row = 0; row < place.rows; ++row)
                    starts.push_back(batch.tokens[static_cast<std::size_t>(row * place.context)]);
            }
        }
    }
    return starts;
}

TEST_F(Data, MissingEmptyBinaryAndShortFilesAreNamed) {
    EXPECT_THAT(load(m_folder.file("none")), HasSubstr("does not exist"));
    EXPECT_THAT(load(write("empty.txt", "")), HasSubstr("is empty"));
    EXPECT_THAT(load(write("binary", std::string(100, '\0'))), HasSubstr("is binary"));
    EXPECT_THAT(load(write("short.txt", "too short")), HasSubstr("too few"));
    fs::create_directories(m_folder.file("hollow"));
    EXPECT_THAT(load(m_folder.file("hollow")), HasSubstr("holds no text file"));
}

TEST_F(Data, AContextLongerThanTheDataIsRefused) {
    const std::string text = write("t.txt", std::string(100, 'a'));
    const std::string tokens = writeNumbered(100);
    EXPECT_THAT(Dataset::load(config(text, 0.1, 99)),
                test::FailsWith("has 100 bytes, too few for a context of 99"));
    EXPECT_THAT(Dataset::load(config(tokens, 0.1, 99)),
                test::FailsWith("has 100 tokens, too few for a context of 99"));
    // The held-back part is too short by itself.
    EXPECT_THAT(Dataset::load(config(text, 0.1, 16)), test::FailsWith("10 held back"));
    EXPECT_THAT(Dataset::load(config(text, 0.5, 16)), test::IsOk());
}

TEST_F(Data, FolderIsReadInNameOrderWithoutHiddenAndBinaryFiles) {
    write("a/2.txt", std::string(500, 'b'));
    write("a/1.txt", std::string(500, 'a'));
    write("a/.hidden", std::string(500, 'h'));
    write("a/build/out.txt", std::string(500, 'o'));
    write("a/image", std::string(500, '\0'));
    const auto dataset = Dataset::load(config(m_folder.file("a"), 0.5));
    ASSERT_TRUE(dataset) << dataset.error().message;
    EXPECT_EQ(dataset->trainingTokens(), 500);
    EXPECT_EQ(dataset->validationTokens(), 500);
    const Batch batch = dataset->training({1, 0, 0, 0, 4, 16});
    EXPECT_TRUE(batch.tokens.eq('a').all().item<bool>());
}

TEST_F(Data, BatchesAreTheSameForTheSamePlaceAndDifferForOthers) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += static_cast<char>('a' + (i * i) % 26);
    const auto dataset = Dataset::load(config(write("t.txt", text)));
    ASSERT_TRUE(dataset);
    const BatchPlace place{7, 3, 1, 0, 4, 16};
    EXPECT_TRUE(at::equal(dataset->training(place).tokens, dataset->training(place).tokens));
    BatchPlace other = place;
    other.rank = 1;
    EXPECT_FALSE(at::equal(dataset->training(place).tokens, dataset->training(other).tokens));
}

TEST_F(Data, TargetsAreTokensShiftedByOne) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 26);
    const auto dataset = Dataset::load(config(write("t.txt", text)));
    ASSERT_TRUE(dataset);
    for (const Batch& batch : {dataset->validation({7, 0, 1, 0, 4, 16}, 2, 3),
                               dataset->training({7, 0, 1, 0, 4, 16, 2, 3})}) {
        const at::Tensor expected = (batch.tokens.reshape({-1}) - 'a' + 1).remainder(26) + 'a';
        EXPECT_TRUE(at::equal(batch.targets, expected));
    }
}

TEST(WindowOrder, IsAPermutationForEveryCountAndKey) {
    for (std::uint64_t count = 1; count < 300; ++count) {
        for (const std::uint64_t key : {0ULL, 1ULL, ~0ULL, 1337ULL * count}) {
            const WindowOrder order(count, key);
            std::set<std::uint64_t> seen;
            for (std::uint64_t place = 0; place < count; ++place) seen.insert(order.at(place));
            ASSERT_EQ(seen.size(), count);
            ASSERT_LT(*seen.rbegin(), count);
        }
    }
}

TEST(WindowOrder, DiffersByKeyAndIsNotTheOrderOfPlaces) {
    const WindowOrder one(1000, 1), two(1000, 2);
    int same = 0, still = 0;
    for (std::uint64_t place = 0; place < 1000; ++place) {
        same += one.at(place) == two.at(place) ? 1 : 0;
        still += one.at(place) == place ? 1 : 0;
    }
    EXPECT_LT(same, 20);  // by chance 1
    EXPECT_LT(still, 20);
}

TEST_F(Data, AnEpochUsesEveryWindowOnceOverAllRanksAndMicroSteps) {
    std::mt19937 random(1);
    const auto upTo = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random()) % most + 1;
    };
    for (int i = 0; i < 60; ++i) {
        const std::int64_t context = upTo(9);
        const std::int64_t count = context + 1 + upTo(400);
        const Dataset dataset = numbered(writeNumbered(count), context);
        const BatchPlace place{random(), 0, 0, 0, upTo(3), context, upTo(4), upTo(3)};
        const std::int64_t windows = dataset.windows(context);
        ASSERT_EQ(windows, (count - 1) / context);
        // Two epochs and more, in whole steps.
        const std::int64_t each = place.rows * place.ranks * place.accumulate;
        const auto starts = startsOf(dataset, place, 2 * windows / each + 1);
        for (int epoch = 0; epoch < 2; ++epoch) {
            const auto first = starts.begin() + epoch * windows;
            std::vector<std::int64_t> sorted(first, first + windows);
            std::sort(sorted.begin(), sorted.end());
            ASSERT_GE(sorted[0], 0);
            ASSERT_LE(sorted[0] + windows * context + 1, count);
            for (std::int64_t w = 0; w < windows; ++w)
                ASSERT_EQ(sorted[static_cast<std::size_t>(w)], sorted[0] + w * context);
        }
    }
}

TEST_F(Data, TheGlobalOrderIsTheSameForAnyNumberOfRanks) {
    const Dataset dataset = numbered(writeNumbered(3001), 10);
    const auto expected = startsOf(dataset, {5, 0, 0, 0, 12, 10, 1, 1}, 60);
    for (const auto& [rows, ranks, accumulate] :
         {std::array{6, 2, 1}, {3, 4, 1}, {4, 3, 1}, {6, 1, 2}, {3, 2, 2}, {1, 4, 3}}) {
        EXPECT_EQ(startsOf(dataset, {5, 0, 0, 0, rows, 10, ranks, accumulate}, 60), expected)
            << rows << " rows, " << ranks << " ranks, " << accumulate << " micro-steps";
    }
}

TEST_F(Data, EpochsAndSeedsHaveOrdersOfTheirOwn) {
    const Dataset dataset = numbered(writeNumbered(1001), 10);
    const auto starts = startsOf(dataset, {5, 0, 0, 0, 10, 10}, 20);
    EXPECT_FALSE(std::equal(starts.begin(), starts.begin() + 100, starts.begin() + 100));
    EXPECT_NE(startsOf(dataset, {6, 0, 0, 0, 10, 10}, 20), starts);
}

TEST_F(Data, TokensOutOfRangeAreNamedByFileAndPlace) {
    auto tokens = std::vector<std::uint32_t>(200, 5);
    tokens[123] = 70'000;
    const std::string path = writeTokens("odd.bin", tokens);
    const auto dataset = Dataset::load(config(path, 0.5));
    EXPECT_THAT(dataset, test::FailsWith("odd.bin: token 123 is 70000, but the model has a "
                                         "vocabulary of 256; give --vocabulary 70001"));
    EXPECT_THAT(dataset, test::FailsAs(ErrorCode::kUnreadable));
}

TEST_F(Data, FilesNamedValAreTheValidationPart) {
    fs::create_directories(m_folder.file("b"));
    writeTokens("b/train_1.bin", std::vector<std::uint32_t>(70, 1));
    writeTokens("b/train_2.bin", std::vector<std::uint32_t>(30, 2));
    writeTokens("b/val.bin", std::vector<std::uint32_t>(50, 3));
    const auto dataset = Dataset::load(config(m_folder.file("b")));
    ASSERT_THAT(dataset, test::IsOk());
    EXPECT_EQ(dataset->trainingTokens(), 100);
    EXPECT_EQ(dataset->validationTokens(), 50);
    EXPECT_TRUE(dataset->validation({1, 0, 0, 0, 4, 16}, 1, 1).tokens.eq(3).all().item<bool>());
}

class Trained : public Data {
protected:
    Trained() {
        std::string text;
        for (int i = 0; i < 400; ++i) text += "the cat sat on the mat; the dog did not. ";
        m_text = text;
        tokens::PieceCounts pieces;
        pieces.add(text);
        auto vocabulary = tokens::trainBpe(pieces, {264, 2, {}});
        m_json = write("tokenizer.json", tokens::tokenizerJson(*vocabulary));
    }
    run::RunConfig trainedConfig(const std::string& data) const {
        run::RunConfig c = config(data);
        c.tokenizer = m_json;
        c.model.vocabulary = 264;
        return c;
    }
    std::string m_text, m_json;
};

TEST_F(Trained, TextIsEncodedWithTheEndOfTextAfterEachFile) {
    write("two/a.txt", m_text);
    write("two/b.txt", m_text);
    const auto one = Dataset::load(trainedConfig(m_folder.file("two/a.txt")));
    const auto two = Dataset::load(trainedConfig(m_folder.file("two")));
    ASSERT_THAT(one, test::IsOk());
    ASSERT_THAT(two, test::IsOk());
    const std::int64_t count = one->trainingTokens() + one->validationTokens();
    EXPECT_EQ(two->trainingTokens() + two->validationTokens(), 2 * count);
    // By itself the text is this long, and the end of text one more.
    const auto tokenizer = tokens::readTokenizer(m_json);
    std::vector<std::uint32_t> ids;
    tokens::Encoder(*tokenizer).encode(m_text, ids);
    EXPECT_EQ(count, static_cast<std::int64_t>(ids.size()) + 1);
}

TEST_F(Trained, ATokenizerLargerThanTheVocabularyIsRefused) {
    run::RunConfig c = trainedConfig(write("t.txt", m_text));
    c.model.vocabulary = 263;
    const auto dataset = Dataset::load(c);
    EXPECT_THAT(dataset, test::FailsWith("has 264 tokens, the model a vocabulary of 263; give "
                                         "--vocabulary 264"));
    EXPECT_THAT(dataset, test::FailsAs(ErrorCode::kUsage));
    EXPECT_THAT(tokens::checkCorpus(c), test::FailsAs(ErrorCode::kUsage));
}

TEST_F(Data, SyntheticTokensAreUniformAndFollowFromThePlace) {
    run::RunConfig c = config(tokens::kSynthetic);
    c.model.vocabulary = 50;
    const auto dataset = Dataset::load(c);
    ASSERT_THAT(dataset, test::IsOk());
    const at::Tensor drawn = dataset->training({3, 0, 0, 0, 100, 1000}).tokens.reshape({-1});
    const at::Tensor counts = at::bincount(drawn, {}, 50);
    EXPECT_EQ(counts.size(0), 50);
    EXPECT_GT(counts.min().item<std::int64_t>(), 1800);  // of 2000 each; sigma 44
    EXPECT_LT(counts.max().item<std::int64_t>(), 2200);
    const auto whole = startsOf(*dataset, {3, 0, 0, 0, 8, 16, 1, 1}, 5);
    EXPECT_EQ(startsOf(*dataset, {3, 0, 0, 0, 2, 16, 2, 2}, 5), whole);
    EXPECT_NE(startsOf(*dataset, {4, 0, 0, 0, 2, 16, 2, 2}, 5), whole);
}

HostBatch numberedBatch(std::int64_t index) {
    return {1, {index}, {index}};
}

TEST(Prefetcher, GivesEveryBatchOnceInOrder) {
    Prefetcher prefetcher(numberedBatch, 3);
    for (std::int64_t index = 0; index < 500; ++index)
        ASSERT_EQ(prefetcher.take(index).tokens[0], index);
}

TEST(Prefetcher, StartsAnewWhereverItIsAsked) {
    std::mt19937 random(2);
    Prefetcher prefetcher(numberedBatch, 2);
    std::int64_t index = 1000;
    for (int i = 0; i < 2000; ++i) {
        index = random() % 4 == 0 ? static_cast<std::int64_t>(random() % 5) + index - 2 : index + 1;
        ASSERT_EQ(prefetcher.take(index).tokens[0], index);
    }
}

TEST(Prefetcher, MakesNoMoreThanItsDepthAhead) {
    std::atomic<std::int64_t> most = 0;
    Prefetcher prefetcher(
        [&](std::int64_t index) {
            most = std::max<std::int64_t>(most, index);
            return numberedBatch(index);
        },
        2);
    for (std::int64_t index = 0; index < 200; ++index) {
        static_cast<void>(prefetcher.take(index));
        ASSERT_LE(most, index + 3);  // two ready, one in the making after a take
    }
}

TEST(Prefetcher, HandsExceptionsToTheOneThatAsks) {
    Prefetcher prefetcher(
        [](std::int64_t index) {
            if (index == 3) throw std::out_of_range("token 3");
            return numberedBatch(index);
        },
        2);
    for (std::int64_t index = 0; index < 3; ++index)
        EXPECT_EQ(prefetcher.take(index).tokens[0], index);
    EXPECT_THROW(static_cast<void>(prefetcher.take(3)), std::out_of_range);
    EXPECT_EQ(prefetcher.take(4).tokens[0], 4);
}

TEST(Prefetcher, JoinsWithBatchesLeftAndWithNoneAsked) {
    std::atomic<int> making = 0;
    {
        const Prefetcher idle(numberedBatch, 2);
        Prefetcher busy(
            [&](std::int64_t index) {
                ++making;
                return numberedBatch(index);
            },
            4);
        static_cast<void>(busy.take(0));
    }
    EXPECT_GE(making, 1);
}

}  // namespace
}  // namespace shardscope::data
