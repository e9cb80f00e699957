#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_config.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

namespace shardscope::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(std::string_view text) {
    const auto found = commandWords(text);
    EXPECT_THAT(found, test::IsOk());
    return found.value_or(std::vector<std::string>());
}

TEST(CommandWords, AreBetweenBlanksOutsideOfQuotes) {
    EXPECT_THAT(words("ssh"), ElementsAre("ssh"));
    EXPECT_THAT(words("  ssh  -F\t/c "), ElementsAre("ssh", "-F", "/c"));
    EXPECT_THAT(words("ssh -F '/my config' -o \"A=b \\\"c\\\"\""),
                ElementsAre("ssh", "-F", "/my config", "-o", "A=b \"c\""));
    EXPECT_THAT(words("a\\ b 'c'd\"\""), ElementsAre("a b", "cd"));
    EXPECT_THAT(words("ssh ''"), ElementsAre("ssh", ""));
}

TEST(CommandWords, ThatAreNoneOrHaveNoEndAreASentence) {
    EXPECT_THAT(commandWords("ssh 'open"), test::FailsWith("has no end"));
    EXPECT_THAT(commandWords("\""), test::FailsWith("has no end"));
    EXPECT_THAT(commandWords(" "), test::FailsWith("there is no command"));
    RunConfig config;
    config.hosts = "node-a";
    config.sshCommand = "ssh 'open";
    EXPECT_THAT(validate(config).error().message, HasSubstr("--ssh-command: a quote"));
}

}  // namespace
}  // namespace shardscope::run
