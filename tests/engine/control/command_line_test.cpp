#include "engine/control/run_config.h"

#include <gtest/gtest.h>

namespace shardscope::control {
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
              "--alternate-capture --no-calibrate --output 'my run'\\''s.sscope'");
}

}  // namespace
}  // namespace shardscope::control
