#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

/// Takes `text` in as it would come through a pipe; how much of it was read.
std::size_t readUntilFound(Token& token, const std::string& text) {
    std::size_t at = 0;
    while (token.wanted() > 0 && at < text.size()) {
        const std::string piece = text.substr(at, token.wanted());
        token.take(piece);
        at += piece.size();
    }
    return at;
}

TEST(Token, IsFoundWithoutReadingPastIt) {
    for (const std::string noise : {"", "hello\n", "aba", "aabaab", "abab\n", "aabaa"}) {
        Token token("aabaabb");
        const std::string text = noise + "aabaabb\n";
        EXPECT_EQ(readUntilFound(token, text + "frames"), text.size()) << noise;
        EXPECT_EQ(token.wanted(), 0u) << noise;
        EXPECT_EQ(token.noiseBytes(), noise.size());
    }
}

TEST(Token, IsFoundInAnyNoise) {
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        std::string noise;
        for (auto count = random() % 40; count > 0; --count) noise += "ab\n"[random() % 3];
        Token token("abaab");
        const std::string text = noise + "abaab\n";
        const auto first = text.find("abaab\n") + 6;
        ASSERT_EQ(readUntilFound(token, text + "abaab\n"), first) << noise;
    }
}

TEST(Token, IsPrintedByAShellWhoseLineDoesNotHoldIt) {
    Token token;
    const std::string line = token.printing();
    const auto printed = outputOf({"/bin/sh", "-c", line});
    ASSERT_TRUE(printed.has_value());
    EXPECT_EQ(printed->size(), 33u);
    EXPECT_EQ(line.find(printed->substr(0, 32)), std::string::npos);
    EXPECT_EQ(readUntilFound(token, *printed), printed->size());
    EXPECT_EQ(token.wanted(), 0u);
}

TEST(Token, IsAnotherOneEachTime) {
    EXPECT_NE(Token().printing(), Token().printing());
}

}  // namespace
}  // namespace shardscope::launch
