// What the New run page knows of the fields of a run: names, and when they mean something.
#include "engine/control/run_fields.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/run_field_rules.h"
#include "app/desktop/models/run_field_texts.h"

#include <gmock/gmock.h>

#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using control::RunConfig;
using control::Strategy;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RunFieldTexts, EveryFlagOfTheCommandLineHasAFieldThatIsExplained) {
    for (const control::RunField& field : control::runFields()) {
        if (*field.flag == '\0') continue;
        const RunFieldText* text = findRunFieldText(field.key);
        ASSERT_NE(text, nullptr) << field.key << " is missing from the form";
        EXPECT_FALSE(text->name.isEmpty()) << field.key;
        EXPECT_TRUE(text->help.endsWith(u'.')) << field.key;
    }
}

TEST(RunFieldTexts, NameNoFieldThatARunDoesNotHaveAndNoneTwice) {
    std::set<std::string> keys;
    std::set<QString> labels;
    for (const RunFieldText& text : runFieldTexts()) {
        EXPECT_NE(control::findRunField(text.key), nullptr) << text.key;
        EXPECT_TRUE(keys.insert(text.key).second) << text.key;
        EXPECT_TRUE(labels.insert(text.label()).second) << text.label().toStdString();
    }
}

TEST(RunFieldTexts, SentencesOfTheCommandLineAreSaidInTheFormsWords) {
    EXPECT_EQ(inFormWords(u"choose --hidden as a multiple of --heads"_s),
              u"choose “Hidden” as a multiple of “Heads”."_s);
    EXPECT_EQ(inFormWords(u"bucket-mb is 0; give a value from 1 to 2"_s),
              u"“Bucket” is 0; give a value from 1 to 2."_s);
    EXPECT_EQ(inFormWords(u"use --checkpoint-every 3, not --checkpointed"_s),
              u"use “Checkpoint every” 3, not --checkpointed."_s)
        << "whole words only";
    EXPECT_THAT(fieldsNamedIn(u"choose --steps or --hidden"_s),
                ElementsAre("steps", "model.hidden"));
    EXPECT_THAT(fieldsNamedIn(u"nothing of ours: --head"_s), IsEmpty());
}

struct Case {
    const char* key;
    void (*make)(RunConfig&);
};

/// Each field is off by itself and on with what it needs.
TEST(RunFieldRules, WhatNeedsSomethingElseIsOffWithoutIt) {
    const Case cases[] = {
        {"bucket_mb", [](RunConfig& c) { c.strategy = Strategy::kDdpBucket; }},
        {"shard_ranks", [](RunConfig& c) { c.strategy = Strategy::kHsdp; }},
        {"compress", [](RunConfig& c) { c.strategy = Strategy::kDdpFlat; }},
        {"kept_fraction",
         [](RunConfig& c) {
             c.strategy = Strategy::kDdpFlat;
             c.compression = control::Compression::kTopK;
         }},
        {"loss_scale", [](RunConfig& c) { c.precision = control::Precision::kFloat16; }},
        {"reduce", [](RunConfig& c) { c.precision = control::Precision::kBFloat16; }},
        {"share_device", [](RunConfig& c) { c.device = control::Device::kCuda; }},
        {"device_capture", [](RunConfig& c) { c.device = control::Device::kCuda; }},
        {"offload", [](RunConfig& c) { c.device = control::Device::kCuda; }},
        {"interface", [](RunConfig& c) { c.transport = control::Transport::kGloo; }},
        {"link_latency_us", [](RunConfig& c) { c.linkGigabytesPerSecond = 12.5; }},
        {"checkpoint_every", [](RunConfig& c) { c.checkpoint = "ckpt"; }},
        {"keep_checkpoints", [](RunConfig& c) { c.checkpoint = "ckpt"; }},
        {"prompt", [](RunConfig& c) { c.sampleTokens = 10; }},
        {"temperature", [](RunConfig& c) { c.sampleTokens = 10; }}};
    for (const Case& each : cases) {
        RunConfig config;
        EXPECT_FALSE(whyNot(config, each.key).isEmpty()) << each.key;
        each.make(config);
        EXPECT_TRUE(whyNot(config, each.key).isEmpty()) << each.key;
    }
}

TEST(RunFieldRules, WhatSomethingElseRulesOutIsOffWithIt) {
    const Case cases[] = {
        {"ranks", [](RunConfig& c) { c.strategy = Strategy::kSingle; }},
        {"prefetch", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"reshard_after_forward", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"keep_gathered", [](RunConfig& c) { c.strategy = Strategy::kZero1; }},
        {"keep_gradients", [](RunConfig& c) { c.strategy = Strategy::kDdpFlat; }},
        {"vocabulary_pieces", [](RunConfig& c) { c.strategy = Strategy::kZero2; }},
        {"vocabulary_pieces", [](RunConfig& c) { c.reshardAfterForward = false; }},
        {"transport", [](RunConfig& c) { c.device = control::Device::kCuda; }},
        {"link_gb_per_s", [](RunConfig& c) { c.device = control::Device::kCuda; }},
        {"evaluate_batches", [](RunConfig& c) { c.evaluateEvery = 0; }},
        {"sample", [](RunConfig& c) { c.evaluateEvery = 0; }},
        {"decay_vectors", [](RunConfig& c) { c.decayEmbeddings = false; }},
        {"minimum_learning_rate", [](RunConfig& c) { c.schedule = control::Schedule::kConstant; }}};
    for (const Case& each : cases) {
        RunConfig config;
        EXPECT_TRUE(whyNot(config, each.key).isEmpty()) << each.key;
        each.make(config);
        EXPECT_FALSE(whyNot(config, each.key).isEmpty()) << each.key;
    }
}

TEST(RunFieldRules, NothingThatIsOffIsRefused) {
    RunConfig asked;
    asked.shardRanks = 2;
    asked.keepGathered = true;
    asked.reshardAfterForward = false;
    asked.compression = control::Compression::kTopK;
    asked.shareDevice = true;
    asked.vocabularyPieces = 4;
    asked.offload = control::Offload::kOptimizer;
    asked.deviceCapture = control::DeviceCapture::kIdle;
    asked.reduceIn = control::GradientType::kBFloat16;
    asked.interface = "eth0";
    asked.linkLatencyMicroseconds = 5;
    asked.checkpointEvery = 10;
    asked.sampleTokens = 10;
    asked.evaluateEvery = 0;
    asked.decayVectors = true;
    asked.decayEmbeddings = false;
    for (const Strategy strategy : kAll<control::Strategy>) {
        asked.strategy = strategy;
        const RunConfig config = settled(asked, asked);
        const auto valid = control::validate(config);
        EXPECT_TRUE(valid) << toWord(strategy) << ": " << valid.error().message;
    }
}

TEST(RunFieldRules, WhatIsOffAndWithoutEffectStaysAsItWas) {
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
}  // namespace shardscope::desktop
