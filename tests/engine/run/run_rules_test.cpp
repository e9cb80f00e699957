// The rule book of runs: what options need, and how refusals name them.
#include "engine/run/config/run_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shardscope::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RunOptions, AreDescribedWholeAndNamedOnce) {
    std::set<std::string> keys, flags, names;
    for (const RunOption& option : runOptions()) {
        EXPECT_TRUE(keys.insert(option.key).second) << option.key;
        EXPECT_NE(std::string(option.help), "") << option.key;
        EXPECT_FALSE(std::string(option.help).ends_with(".")) << option.key;
        if (*option.flag != '\0') {
            EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
            EXPECT_NE(std::string(option.name), "") << option.key << " is missing from the form";
        }
        const std::string label = std::string(option.name) + ", " + option.unit;
        if (*option.name != '\0') {
            EXPECT_TRUE(names.insert(label).second) << label;
        }
    }
}

TEST(RunOptions, HoldTheirDefaultsWithinTheirLimits) {
    RunConfig config;
    config.data = kSyntheticData;
    EXPECT_FALSE(findProblem(config));
}

TEST(RunOptions, OfferTheWordsThatTheyTake) {
    for (const RunOption& option : runOptions()) {
        if (option.choices == nullptr) continue;
        for (const OptionChoice& choice : option.choices()) {
            RunConfig config;
            EXPECT_TRUE(option.set(config, choice.word)) << option.key << " " << choice.word;
            EXPECT_FALSE(choice.name.empty()) << option.key << " " << choice.word;
        }
    }
}

TEST(RunRules, AProblemNamesItsOptionsInTheirOrder) {
    RunConfig config;
    config.model.hidden = 385;
    const auto problem = findProblem(config);
    ASSERT_TRUE(problem);
    EXPECT_THAT(problem->options, ElementsAre("model.hidden", "model.heads"));
    EXPECT_THAT(inFlags(problem->sentence), HasSubstr("choose --hidden as a multiple of --heads"));
    EXPECT_THAT(validate(config).error().message, testing::Eq(inFlags(problem->sentence)));
}

TEST(RunRules, NamesAreSpelledAsEachFrontEndCallsThem) {
    const auto name = [](const RunOption& option) { return "<" + std::string(option.name) + ">"; };
    EXPECT_EQ(spelled("{steps} is 0, {no such} {steps}", name), "<Steps> is 0, {no such} <Steps>");
    EXPECT_EQ(inFlags("{beta1} and {bucket_mb}"), "beta1 and --bucket-mb");
    EXPECT_EQ(spelled("an open {brace", name), "an open {brace");
}

/// Any run, however broken, is refused with a sentence that says what to change, or is sound.
TEST(RunRules, EveryRefusalNamesAnOptionAndLeavesNoMark) {
    std::mt19937 random(14);
    std::set<std::string> seen;
    for (int i = 0; i < 4000; ++i) {
        RunConfig config;
        for (int change = 0; change < 3; ++change) {
            const RunOption& option = runOptions()[random() % runOptions().size()];
            const OptionValue usual = option.get(config);
            OptionValue value = usual;
            if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
            if (auto* whole = std::get_if<std::int64_t>(&value))
                *whole = static_cast<int>(random() % 9) - 1;
            if (auto* real = std::get_if<double>(&value))
                *real = static_cast<double>(random() % 5) / 2 - 0.5;
            if (option.choices != nullptr) {
                const auto choices = option.choices();
                value = choices[random() % choices.size()].word;
            } else if (auto* text = std::get_if<std::string>(&value)) {
                *text = random() % 2 == 0 ? "" : "x";
            }
            static_cast<void>(option.set(config, value));
        }
        const auto problem = findProblem(config);
        if (!problem) continue;
        seen.insert(problem->sentence);
        EXPECT_THAT(problem->options, testing::Not(IsEmpty())) << problem->sentence;
        EXPECT_EQ(inFlags(problem->sentence).find('{'), std::string::npos) << problem->sentence;
    }
    EXPECT_GT(seen.size(), 100u);
}

struct Case {
    const char* key;
    void (*make)(RunConfig&);
};

/// Each field is off by itself and on with what it needs.
TEST(RunRules, WhatNeedsSomethingElseIsOffWithoutIt) {
    const Case cases[] = {
        {"bucket_mb", [](RunConfig& c) { c.strategy = Strategy::kDdpBucket; }},
        {"shard_ranks", [](RunConfig& c) { c.strategy = Strategy::kHsdp; }},
        {"sequence", [](RunConfig& c) { c.tensor = 2; }},
        {"compress", [](RunConfig& c) { c.strategy = Strategy::kDdpFlat; }},
        {"kept_fraction",
         [](RunConfig& c) {
             c.strategy = Strategy::kDdpFlat;
             c.compression = Compression::kTopK;
         }},
        {"loss_scale", [](RunConfig& c) { c.precision = Precision::kFloat16; }},
        {"reduce", [](RunConfig& c) { c.precision = Precision::kBFloat16; }},
        {"share_device", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"device_capture", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"graphs", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"offload", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"interface", [](RunConfig& c) { c.transport = Transport::kGloo; }},
        {"link_latency_us", [](RunConfig& c) { c.linkGigabytesPerSecond = 12.5; }},
        {"checkpoint_every", [](RunConfig& c) { c.checkpoint = "ckpt"; }},
        {"keep_checkpoints", [](RunConfig& c) { c.checkpoint = "ckpt"; }},
        {"prompt", [](RunConfig& c) { c.sampleTokens = 10; }},
        {"temperature", [](RunConfig& c) { c.sampleTokens = 10; }}};
    for (const Case& each : cases) {
        RunConfig config;
        EXPECT_FALSE(whyNot(config, each.key).empty()) << each.key;
        each.make(config);
        EXPECT_TRUE(whyNot(config, each.key).empty()) << each.key;
    }
}

TEST(RunRules, WhatSomethingElseRulesOutIsOffWithIt) {
    const Case cases[] = {
        {"ranks", [](RunConfig& c) { c.strategy = Strategy::kSingle; }},
        {"encrypt", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"tensor", [](RunConfig& c) { c.strategy = Strategy::kHsdp; }},
        {"tensor", [](RunConfig& c) { c.sampleTokens = 10; }},
        {"prefetch", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"reshard_after_forward", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"keep_gathered", [](RunConfig& c) { c.strategy = Strategy::kZero1; }},
        {"keep_gradients", [](RunConfig& c) { c.strategy = Strategy::kDdpFlat; }},
        {"vocabulary_pieces", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"vocabulary_pieces", [](RunConfig& c) { c.reshardAfterForward = false; }},
        {"transport", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"link_gb_per_s", [](RunConfig& c) { c.device = Device::kCuda; }},
        {"evaluate_batches", [](RunConfig& c) { c.evaluateEvery = 0; }},
        {"sample", [](RunConfig& c) { c.evaluateEvery = 0; }},
        {"decay_vectors", [](RunConfig& c) { c.decayEmbeddings = false; }},
        {"minimum_learning_rate", [](RunConfig& c) { c.schedule = Schedule::kConstant; }}};
    for (const Case& each : cases) {
        RunConfig config;
        EXPECT_TRUE(whyNot(config, each.key).empty()) << each.key;
        each.make(config);
        EXPECT_FALSE(whyNot(config, each.key).empty()) << each.key;
    }
}

/// A change that breaks a rule of layers that ranks share, and what the refusal says.
struct Indivisible {
    void (*change)(RunConfig&);
    const char* says;
};

TEST(RunRules, RanksShareLayersThatDivide) {
    RunConfig shared;
    shared.data = kSyntheticData;
    shared.ranks = 4;
    shared.tensor = 2;
    shared.sequence = true;
    EXPECT_FALSE(findProblem(shared)) << findProblem(shared)->sentence;
    RunConfig alone = shared;
    alone.strategy = Strategy::kSingle;
    EXPECT_THAT(findProblem(alone)->sentence,
                HasSubstr("on 2 ranks that share its layers, not on 4"));
    alone.ranks = 2;
    EXPECT_FALSE(findProblem(alone));
    const Indivisible all[] = {
        {[](RunConfig& c) { c.ranks = 3; }, "{tensor} 2 does not divide {ranks} 3"},
        {[](RunConfig& c) { c.model.heads = 3, c.model.hidden = 96; }, "{model.heads} 3"},
        {[](RunConfig& c) { c.model.ffnWidth = 129; }, "{model.ffn_width} 129"},
        {[](RunConfig& c) { c.batch = 1, c.model.context = 63; }, "the 63 rows of a micro-step"},
        {[](RunConfig& c) { c.tensor = 1; }, "{sequence} divides rows"},
        {[](RunConfig& c) { c.strategy = Strategy::kHsdp, c.shardRanks = 2; },
         "use {strategy} zero3"},
        {[](RunConfig& c) { c.device = Device::kCuda, c.graphs = true; }, "{tensor} and {graphs}"},
        {[](RunConfig& c) {
             c.ranks = c.tensor = 8;
             c.model.heads = 8;
             c.model.vocabulary = 9;
         },
         "the vocabulary has 9 tokens only"}};
    for (const Indivisible& each : all) {
        RunConfig config = shared;
        each.change(config);
        const auto problem = findProblem(config);
        ASSERT_TRUE(problem) << each.says;
        EXPECT_THAT(problem->sentence, HasSubstr(each.says));
    }
}

TEST(RunRules, NothingThatIsOffIsRefused) {
    RunConfig asked;
    asked.shardRanks = 2;
    asked.keepGathered = true;
    asked.reshardAfterForward = false;
    asked.compression = Compression::kTopK;
    asked.shareDevice = true;
    asked.graphs = true;
    asked.vocabularyPieces = 4;
    asked.offload = Offload::kOptimizer;
    asked.deviceCapture = DeviceCapture::kIdle;
    asked.reduceIn = GradientType::kBFloat16;
    asked.interface = "eth0";
    asked.linkLatencyMicroseconds = 5;
    asked.checkpointEvery = 10;
    asked.sampleTokens = 10;
    asked.evaluateEvery = 0;
    asked.decayVectors = true;
    asked.decayEmbeddings = false;
    for (const Strategy strategy : kAll<Strategy>) {
        asked.strategy = strategy;
        const RunConfig config = settled(asked, asked);
        const auto problem = findProblem(config);
        EXPECT_FALSE(problem) << toWord(strategy) << ": " << problem->sentence;
    }
}

TEST(RunRules, GraphsAreRefusedWhereTheyCannotBeCaptured) {
    const auto sentence = [](const RunConfig& config) {
        const auto problem = findProblem(config);
        return problem ? inFlags(problem->sentence) : std::string();
    };
    RunConfig config;
    config.graphs = true;
    EXPECT_THAT(sentence(config), HasSubstr("--graphs is about GPUs"));
    config.device = Device::kCuda;
    EXPECT_EQ(sentence(config), "");
    config.offload = Offload::kOptimizer;
    EXPECT_EQ(
        sentence(config),
        "--graphs and --offload cannot be combined (offload synchronises with the host); drop "
        "one");
    config.offload = Offload::kNone;
    config.keepGathered = true;
    config.accumulate = 2;
    EXPECT_THAT(sentence(config), HasSubstr("leave out one of --graphs and --keep-gathered"));
    config.accumulate = 1;
    EXPECT_EQ(sentence(config), "");
}

TEST(RunRules, WhatIsOffAndWithoutEffectStaysAsItWas) {
    RunConfig base;
    base.bucketMegabytes = 10;
    base.lossScale = 1024;
    base.keepCheckpoints = 7;
    base.prompt = "Once";
    RunConfig shown = base;
    shown.bucketMegabytes = 11;  // shown, and cannot be chosen
    EXPECT_EQ(settled(shown, base), base);
}

}  // namespace
}  // namespace shardscope::run
