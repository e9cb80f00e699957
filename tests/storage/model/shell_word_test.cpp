#include "storage/model/shell_word.h"

#include "storage/model/plain_text.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace shardscope {
namespace {

/// Any bytes but NUL, which no word of a shell can hold.
std::vector<std::string> words() {
    std::minstd_rand random(7);
    std::vector<std::string> all{"",      "plain-1.sscope", "it's",   "a\nb", "a\x1b[2Jb",
                                 "-\xFF", "\\x1b",          "\u202E", "语 ä"};
    for (int i = 0; i < 300; ++i) {
        std::string& word = all.emplace_back();
        for (auto left = random() % 20; left > 0; --left)
            word += static_cast<char>(1 + random() % 255);
    }
    return all;
}

TEST(TypedWord, IsWhatAShellReadsAndOneLineOfText) {
    const test::TemporaryFolder folder;
    const std::string script = folder.file("script");
    std::string expected;
    {
        std::ofstream out(script, std::ios::binary);
        for (const std::string& word : words()) {
            const std::string typed = typedWord(word);
            EXPECT_EQ(printableLine(typed), typed);
            out << "printf '%s\\0' " << typed << '\n';
            expected += word + '\0';
        }
    }
    const std::unique_ptr<FILE, int (*)(FILE*)> shell(
        popen(("LC_ALL=C bash " + shellWord(script)).c_str(), "r"), pclose);
    ASSERT_NE(shell, nullptr);
    std::string said(2 * expected.size() + 1, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), shell.get()));
    EXPECT_EQ(said, expected);
}

TEST(TypedWord, HasNoQuotesWhereItNeedsNone) {
    EXPECT_EQ(typedWord("runs/a-1.sscope"), "runs/a-1.sscope");
    EXPECT_EQ(typedWord("it's"), R"('it'\''s')");
    EXPECT_EQ(typedWord("it's\n"), R"($'it\x27s\n')");
}

}  // namespace
}  // namespace shardscope
