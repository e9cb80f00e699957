#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"

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

}  // namespace
}  // namespace shardscope::run
