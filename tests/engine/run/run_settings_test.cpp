#include "engine/run/config/run_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace shardscope::run {
namespace {

std::optional<std::string> textOf(const RunConfig& config, const std::string& name) {
    const auto all = settingsOf(config);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Setting& each) { return each.name == name; });
    return at == all.end() ? std::nullopt : std::optional(at->text);
}

TEST(RunSettings, AChangedPresetIsCalledSo) {
    ModelConfig model = *findModelPreset("shakespeare");
    EXPECT_EQ(modelTitle(model), "shakespeare");
    model.layers = 4;
    model.hidden = 128;
    EXPECT_EQ(modelTitle(model), "changed shakespeare");
    model.name = "reference";
    EXPECT_EQ(modelTitle(model), "reference");
}

/// The smallest preset runs without any other option.
TEST(RunSettings, WhatHoldsNoTextTrainsOnTokensDrawnAtRandom) {
    RunConfig config;
    config.model = *findModelPreset("tiny");
    EXPECT_TRUE(validate(config));
    EXPECT_EQ(textOf(config, "data"), kSyntheticData);
    config.data = "corpus.txt";
    EXPECT_FALSE(validate(config));
    EXPECT_TRUE(holdsBytes(*findModelPreset("shakespeare")));
}

TEST(RunSettings, OneOfAKindIsNamedInTheSingular) {
    RunConfig config;
    config.batch = 1;
    EXPECT_EQ(textOf(config, "batch"), "1 sequence x 128 tokens per rank, 1 micro-step per step");
}

TEST(RunSettings, SayWhatARunWasSetToDo) {
    RunConfig config;
    config.batch = 4;
    config.model.context = 2048;
    config.accumulate = 2;
    config.seed = 7;
    config.data = "corpus.txt";
    EXPECT_EQ(textOf(config, "batch"),
              "4 sequences x 2,048 tokens per rank, 2 micro-steps per step");
    EXPECT_EQ(textOf(config, "precision"), "fp32");
    EXPECT_EQ(textOf(config, "data"), "corpus.txt");
    EXPECT_EQ(textOf(config, "seed"), "7");
    EXPECT_EQ(textOf(config, "capture"), "full");
    EXPECT_EQ(textOf(config, "threads"), std::nullopt) << "not settled";
    EXPECT_EQ(textOf(config, "link"), std::nullopt);
    config.threads = 3;
    config.linkGigabytesPerSecond = 1.25;
    EXPECT_EQ(textOf(config, "threads"), "3 per rank");
    EXPECT_EQ(textOf(config, "layers"), std::nullopt);
    config.tensor = 4;
    config.sequence = true;
    EXPECT_EQ(textOf(config, "layers"), "each shared by 4 ranks, with sequence parallelism");
    EXPECT_EQ(textOf(config, "batch"),
              "4 sequences x 2,048 tokens per 4 ranks, 2 micro-steps per step");
    EXPECT_EQ(textOf(config, "link"), "modelled: 0 µs, 1.25 GB/s");
    EXPECT_EQ(textOf(config, "work"), std::nullopt);
    config.work = Work::kMeasuring;
    EXPECT_EQ(textOf(config, "work"), "measuring the machine: nothing was trained");
}

TEST(ChosenKernels, AreThoseOfTheRunWhereItWasFreeToChoose) {
    const auto of = [](Attention wanted, const std::vector<FactRow>& facts) {
        RunConfig config;
        config.attention = wanted;
        return withChosenKernels(config, facts).attention;
    };
    const FactRow blocked{"attention", 0, 0, "blocked"}, flash{"attention", 0, 1, "flash"};
    EXPECT_EQ(of(Attention::kAuto, {blocked}), Attention::kBlocked);
    EXPECT_EQ(of(Attention::kFlash, {blocked}), Attention::kFlash);
    EXPECT_EQ(of(Attention::kAuto, {blocked, flash}), Attention::kAuto) << "ranks differ";
    EXPECT_EQ(of(Attention::kAuto, {{"attention", 0, 0, "efficient"}}), Attention::kAuto);
    EXPECT_EQ(of(Attention::kAuto, {}), Attention::kAuto);
}

TEST(ModelledLink, IsSaidOnlyOfALinkThatIsNotThere) {
    RunConfig config;
    EXPECT_EQ(modelledLink(config), "");
    config.linkLatencyMicroseconds = 50;
    EXPECT_EQ(modelledLink(config), "") << "a latency alone slows nothing down";
    config.linkGigabytesPerSecond = 1.25;
    EXPECT_EQ(modelledLink(config), "modelled: 50 µs, 1.25 GB/s");
}

}  // namespace
}  // namespace shardscope::run
