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

std::vector<std::string> split(std::string_view line) {
    auto words = wordsOfLine(line);
    EXPECT_TRUE(words) << line;
    return words ? *words : std::vector<std::string>{};
}

TEST(WordsOfLine, SplitsAsAShellDoes) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(split("  python   train.py\t--lr 1e-3 \n"),
              (Words{"python", "train.py", "--lr", "1e-3"}));
    EXPECT_EQ(split(R"(a 'b c' "d e" f\ g 'it'\''s' "")"),
              (Words{"a", "b c", "d e", "f g", "it's", ""}));
    EXPECT_EQ(split(R"("a\"b\\c\d" 'a\b' --x="1 2")"), (Words{R"(a"b\c\d)", R"(a\b)", "--x=1 2"}));
    EXPECT_EQ(split("torchrun \\\n  --nproc-per-node 2 \\\n train.py"),
              (Words{"torchrun", "--nproc-per-node", "2", "train.py"}));
    EXPECT_EQ(split("a # the rest is a remark\nb c#d"), (Words{"a", "b", "c#d"}));
    EXPECT_TRUE(split(" \n ").empty());
    EXPECT_EQ(split("echo $HOME *.py"), (Words{"echo", "$HOME", "*.py"})) << "nothing is expanded";
}

TEST(WordsOfLine, TakesBackWhatIsTyped) {
    for (const std::string word :
         {"plain", "two words", "it's", "\"", "a\\b", "", "line\nend\x01\xff", "$HOME", "#x"})
        EXPECT_EQ(split("run " + typedWord(word)), (std::vector<std::string>{"run", word}))
            << typedWord(word);
}

TEST(WordsOfLine, WhatIsNotOneCommandIsASentence) {
    for (const char* line : {"a | b", "a > file", "a && b", "a; b", "a `b`"}) {
        const auto words = wordsOfLine(line);
        ASSERT_FALSE(words) << line;
        EXPECT_NE(words.error().message.find("a shell"), std::string::npos);
    }
    for (const char* line : {"a 'b", "a \"b", "a $'b"}) {
        const auto words = wordsOfLine(line);
        ASSERT_FALSE(words) << line;
        EXPECT_NE(words.error().message.find("is not closed"), std::string::npos);
    }
    EXPECT_FALSE(wordsOfLine("a b\\"));
    EXPECT_EQ(split("a 'b | c'").size(), 2U);
}

}  // namespace
}  // namespace shardscope
