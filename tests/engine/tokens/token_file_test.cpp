// nanoGPT's and llm.c's .bin: written, read, joined, damaged.
#include "engine/tokens/token_file.h"

#include "engine/tokens/token_stream.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class TokenBin : public testing::Test {
protected:
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(m_folder.file(name), std::ios::binary) << bytes;
        return m_folder.file(name);
    }
    std::string writeTokens(const std::string& name, const std::vector<std::uint32_t>& tokens,
                            TokenFormat format = TokenFormat::kNanoGpt,
                            std::size_t width = 2) const {
        auto writer = TokenFileWriter::create(m_folder.file(name), format, width);
        EXPECT_THAT(writer, test::IsOk());
        EXPECT_THAT(writer->write(tokens), test::IsOk());
        EXPECT_THAT(writer->finish(), test::IsOk());
        return m_folder.file(name);
    }
    static std::vector<std::int64_t> all(const TokenStream& stream) {
        std::vector<std::int64_t> tokens(static_cast<std::size_t>(stream.size()));
        stream.read(0, tokens);
        return tokens;
    }
    static std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
        std::string bytes(1024, '\0');
        const std::int32_t numbers[] = {magic, version, count};
        std::memcpy(bytes.data(), numbers, sizeof numbers);
        return bytes;
    }
    test::TemporaryFolder m_folder;
};

TEST_F(TokenBin, NanoGptsIsNothingButTokens) {
    const std::string path = writeTokens("train.bin", {1, 2, 65535});
    EXPECT_EQ(fs::file_size(path), 6u);
    const auto file = openTokenFile(path);
    ASSERT_THAT(file, test::IsOk());
    EXPECT_EQ(file->format, TokenFormat::kNanoGpt);
    const auto stream = openTokenFiles({path});
    EXPECT_THAT(all(*stream), ElementsAre(1, 2, 65535));
}

TEST_F(TokenBin, LlmcsHasAHeaderOf1024Bytes) {
    const std::string narrow = writeTokens("n.bin", {7, 50256}, TokenFormat::kLlmc);
    const std::string wide = writeTokens("w.bin", {7, 128000}, TokenFormat::kLlmc, 4);
    EXPECT_EQ(fs::file_size(narrow), 1024u + 4);
    EXPECT_EQ(fs::file_size(wide), 1024u + 8);
    std::ifstream in(narrow, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(bytes.substr(0, 1024), header(20240520, 1, 2));
    EXPECT_EQ(openTokenFile(narrow)->format, TokenFormat::kLlmc);
    EXPECT_THAT(all(*openTokenFiles({narrow, wide})), ElementsAre(7, 50256, 7, 128000));
}

TEST_F(TokenBin, DamageIsASentence) {
    const std::pair<std::string, const char*> cases[] = {
        {m_folder.file("none.bin"), "No such file"},
        {m_folder.path(), "directory"},
        {write("empty.bin", ""), "is empty"},
        {write("odd.bin", "abc"), "has 3 bytes, an odd number"},
        {write("short.bin", header(20240520, 1, 1).substr(0, 100)), "ends within llm.c's header"},
        {write("magic.bin", header(20240520, 1, 1).substr(0, 4)), "ends within llm.c's header"},
        {write("version.bin", header(20240520, 2, 1) + "ab"), "of version 2"},
        {write("few.bin", header(20240520, 1, 3) + "abcd"), "announces 3 tokens of 2 bytes"},
        {write("many.bin", header(20240801, 7, 1) + "abcdefgh"), "announces 1 tokens of 4 bytes"},
        {write("none2.bin", header(20240801, 7, 0)), "announces 0 tokens"},
        {write("minus.bin", header(20240520, 1, -1) + "ab"), "announces 4294967295 tokens"}};
    for (const auto& [path, sentence] : cases) {
        const auto file = openTokenFile(path);
        EXPECT_THAT(file, test::FailsWith(sentence)) << path;
        EXPECT_THAT(file, test::FailsAs(ErrorCode::kUnreadable));
    }
}

TEST_F(TokenBin, AFolderIsOneStreamByNameWithValidationApart) {
    for (const char* name : {"b_train_2.bin", "a_train_1.bin", "x_val_0.bin", "interval.bin"})
        writeTokens(name, {static_cast<std::uint32_t>(name[0])});
    write("notes.txt", "text");
    ASSERT_TRUE(isTokenData(m_folder.path()));
    const auto files = findTokenFiles(m_folder.path());
    ASSERT_THAT(files, test::IsOk());
    EXPECT_THAT(files->training, ElementsAre(EndsWith("a_train_1.bin"), EndsWith("b_train_2.bin"),
                                             EndsWith("interval.bin")));
    EXPECT_THAT(files->validation, ElementsAre(EndsWith("x_val_0.bin")));
    EXPECT_THAT(all(*openTokenFiles(files->training)), ElementsAre('a', 'b', 'i'));
}

TEST_F(TokenBin, AFolderOfNothingButValidationIsRefused) {
    writeTokens("val.bin", {1});
    EXPECT_THAT(findTokenFiles(m_folder.path()), test::FailsWith("only held-back ones"));
}

TEST_F(TokenBin, SlicesAndReadsCrossFilesLikeOneArray) {
    std::mt19937 random(8);
    TokenStream stream;
    std::vector<std::int64_t> expected;
    for (std::size_t i = 0; i < 12; ++i) {
        std::vector<std::uint32_t> tokens(random() % 9 + 1);
        for (auto& token : tokens) token = static_cast<std::uint32_t>(random() % 60000);
        const bool llmc = i % 3 != 0;
        const auto path = writeTokens(
            "t.bin", tokens, llmc ? TokenFormat::kLlmc : TokenFormat::kNanoGpt, i % 3 == 2 ? 4 : 2);
        stream.append(*openTokenFiles({path}));
        expected.insert(expected.end(), tokens.begin(), tokens.end());
    }
    ASSERT_EQ(all(stream), expected);
    for (int i = 0; i < 500; ++i) {
        const auto first = static_cast<std::size_t>(random()) % expected.size();
        const auto count = static_cast<std::size_t>(random()) % (expected.size() - first) + 1;
        const auto slice =
            stream.slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count));
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first);
        ASSERT_EQ(all(slice),
                  std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(count)));
    }
}

TEST_F(TokenBin, TheFirstTokenOutOfRangeIsNamedByItsFileAndPlace) {
    const auto one = writeTokens("one.bin", {5, 6, 7});
    const auto two = writeTokens("two.bin", {1, 2, 300, 400}, TokenFormat::kLlmc);
    const auto stream = openTokenFiles({one, two});
    EXPECT_THAT(stream->checkRange(0, stream->size(), 401), test::IsOk());
    EXPECT_THAT(stream->checkRange(0, 5, 256), test::IsOk());
    const auto checked = stream->checkRange(0, stream->size(), 256);
    EXPECT_THAT(checked, test::FailsWith("two.bin: token 2 is 300, but the model has a vocabulary "
                                         "of 256; give --vocabulary 401"));
    EXPECT_THAT(checked, test::FailsAs(ErrorCode::kUnreadable));
    // Told by its place in the file, also when only a part is looked at.
    EXPECT_THAT(stream->slice(4, 3).checkRange(0, 3, 256), test::FailsWith("token 2 is 300"));
}

TEST_F(TokenBin, TheTailMovesToTheHeldBackFile) {
    std::vector<std::uint32_t> tokens(100);
    std::iota(tokens.begin(), tokens.end(), 0U);
    for (const auto format : {TokenFormat::kNanoGpt, TokenFormat::kLlmc}) {
        auto train = TokenFileWriter::create(m_folder.file("train.bin"), format, 2);
        auto val = TokenFileWriter::create(m_folder.file("val.bin"), format, 2);
        ASSERT_THAT(train->write(tokens), test::IsOk());
        ASSERT_THAT(train->moveTail(30, *val), test::IsOk());
        ASSERT_THAT(train->finish(), test::IsOk());
        ASSERT_THAT(val->finish(), test::IsOk());
        const auto both = openTokenFiles({m_folder.file("train.bin"), m_folder.file("val.bin")});
        ASSERT_THAT(both, test::IsOk());
        EXPECT_EQ(openTokenFile(m_folder.file("val.bin"))->count, 30u);
        EXPECT_EQ(all(*both), std::vector<std::int64_t>(tokens.begin(), tokens.end()));
    }
}

TEST_F(TokenBin, WhatIsNotFinishedLeavesNothing) {
    {
        auto writer = TokenFileWriter::create(m_folder.file("t.bin"), TokenFormat::kNanoGpt, 2);
        ASSERT_THAT(writer, test::IsOk());
    }
    EXPECT_TRUE(fs::is_empty(m_folder.path()));
    EXPECT_THAT(TokenFileWriter::create(m_folder.file("no/t.bin"), TokenFormat::kNanoGpt, 2),
                test::FailsAs(ErrorCode::kUsage));
}

TEST_F(TokenBin, WhatCannotBeWrittenIsASentence) {
    // Stands in for a full disk: writing fails past the limit, also for root.
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    auto writer = TokenFileWriter::create(m_folder.file("t.bin"), TokenFormat::kNanoGpt, 2);
    Result<void> written = writer->write(std::vector<std::uint32_t>(1 << 20));
    if (written) written = writer->finish();
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_THAT(written, test::FailsWith("t.bin: File too large; make room"));
    EXPECT_THAT(written, test::FailsAs(ErrorCode::kFailure));
}

}  // namespace
}  // namespace shardscope::tokens
