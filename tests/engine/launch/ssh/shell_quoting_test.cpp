#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

std::string randomText(std::mt19937& random) {
    static const std::string letters = "'\"\\!$`~#*?[]{}()<>|&;^%=@ \tab1,:-+/\xc3\xa9";
    std::string text;
    for (auto count = random() % 30; count > 0; --count) text += letters[random() % letters.size()];
    return text;
}

class Quoting : public testing::TestWithParam<const char*> {};

TEST_P(Quoting, BringsAnyWordThroughTheLoginShell) {
    if (findProgram(GetParam()).empty()) GTEST_SKIP() << "there is no " << GetParam();
    std::mt19937 random(11);
    for (int i = 0; i < 60; ++i) {
        const std::string text = randomText(random);
        const auto said =
            outputOf({GetParam(), "-c", throughLoginShell("printf '%s' " + shellWord(text))});
        ASSERT_TRUE(said.has_value()) << said.error().message;
        EXPECT_EQ(*said, text);
    }
}

TEST_P(Quoting, BringsLongLinesThroughTheLoginShell) {
    if (findProgram(GetParam()).empty()) GTEST_SKIP() << "there is no " << GetParam();
    const std::string text(20'000, 'x');
    const auto said =
        outputOf({GetParam(), "-c", throughLoginShell("printf '%s' " + shellWord(text))});
    ASSERT_TRUE(said.has_value()) << said.error().message;
    EXPECT_EQ(*said, text);
}

INSTANTIATE_TEST_SUITE_P(Shells, Quoting,
                         testing::Values("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace shardscope::launch
