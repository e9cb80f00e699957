#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

TEST(CommandLine, NamesModelStrategyAndRanksEvenAtTheirDefaults) {
    const RunConfig standard;
    EXPECT_EQ(toCommandLine(standard),
              "shardscope record --model shakespeare --strategy zero3 --ranks 2");
}

TEST(CommandLine, NamesOnlyWhatDiffersFromThePreset) {
    RunConfig config;
    config.model = *findModelPreset("small");
    config.model.layers = 2;
    config.learningRate = 0.001;
    config.calibrate = false;
    config.alternateCapture = true;
    config.output = "my run's.sscope";
    EXPECT_EQ(toCommandLine(config),
              "shardscope record --model small --layers 2 --strategy zero3 --ranks 2 --lr 0.001 "
              "--output 'my run'\\''s.sscope' --no-calibrate --alternate-capture");
}

TEST(CommandLine, SaysWhatDiffersFromWhereTheRunStarts) {
    RunConfig start;
    start.batch = 4;
    start.keepGathered = true;
    start.calibrate = false;
    start.model.layers = 2;
    RunConfig config;
    config.learningRate = 0.001;
    EXPECT_EQ(toCommandLine(config, start),
              "shardscope record --model shakespeare --strategy zero3 --ranks 2 --batch 8 "
              "--keep-gathered=false --lr 0.001 --calibrate");
    EXPECT_EQ(toCommandLine(start, start),
              "shardscope record --model shakespeare --layers 2 --strategy zero3 --ranks 2")
        << "the model is named anew";
}

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
