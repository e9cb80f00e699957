#include "engine/data/dataset.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace shardscope::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Text : public testing::Test {
protected:
    Text()
        : m_folder(fs::temp_directory_path() / ("shardscope-data-" + std::to_string(::getpid()))) {
        fs::create_directories(m_folder);
    }
    ~Text() override { fs::remove_all(m_folder); }
    std::string write(const std::string& name, const std::string& text) const {
        fs::create_directories((m_folder / name).parent_path());
        std::ofstream(m_folder / name, std::ios::binary) << text;
        return (m_folder / name).string();
    }
    std::string load(const std::string& path) const {
        const auto dataset = Dataset::load(path, 0.1, 16);
        return dataset ? "" : dataset.error().message;
    }
    fs::path m_folder;
};

TEST_F(Text, MissingEmptyBinaryAndShortFilesAreNamed) {
    EXPECT_THAT(load((m_folder / "none").string()), HasSubstr("does not exist"));
    EXPECT_THAT(load(write("empty.txt", "")), HasSubstr("is empty"));
    EXPECT_THAT(load(write("binary", std::string(100, '\0'))), HasSubstr("is binary"));
    EXPECT_THAT(load(write("short.txt", "too short")), HasSubstr("too few"));
    fs::create_directories(m_folder / "hollow");
    EXPECT_THAT(load((m_folder / "hollow").string()), HasSubstr("holds no text file"));
}

TEST_F(Text, FolderIsReadInNameOrderWithoutHiddenAndBinaryFiles) {
    write("a/2.txt", std::string(500, 'b'));
    write("a/1.txt", std::string(500, 'a'));
    write("a/.hidden", std::string(500, 'h'));
    write("a/build/out.txt", std::string(500, 'o'));
    write("a/image", std::string(500, '\0'));
    const auto dataset = Dataset::load((m_folder / "a").string(), 0.5, 16);
    ASSERT_TRUE(dataset) << dataset.error().message;
    EXPECT_EQ(dataset->trainingTokens(), 500);
    EXPECT_EQ(dataset->validationTokens(), 500);
    const Batch batch = dataset->training({1, 0, 0, 0, 4, 16});
    EXPECT_TRUE(batch.tokens.eq('a').all().item<bool>());
}

TEST_F(Text, BatchesAreTheSameForTheSamePlaceAndDifferForOthers) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += static_cast<char>('a' + (i * i) % 26);
    const auto dataset = Dataset::load(write("t.txt", text), 0.1, 16);
    ASSERT_TRUE(dataset);
    const BatchPlace place{7, 3, 1, 0, 4, 16};
    EXPECT_TRUE(at::equal(dataset->training(place).tokens, dataset->training(place).tokens));
    BatchPlace other = place;
    other.rank = 1;
    EXPECT_FALSE(at::equal(dataset->training(place).tokens, dataset->training(other).tokens));
}

TEST_F(Text, TargetsAreTokensShiftedByOne) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 26);
    const auto dataset = Dataset::load(write("t.txt", text), 0.1, 16);
    ASSERT_TRUE(dataset);
    const Batch batch = dataset->validation({7, 0, 1, 0, 4, 16}, 2, 3);
    const at::Tensor expected = (batch.tokens.reshape({-1}) - 'a' + 1).remainder(26) + 'a';
    EXPECT_TRUE(at::equal(batch.targets, expected));
}

}  // namespace
}  // namespace shardscope::data
