#include "engine/run/config/run_config.h"

#include "engine/run/config/run_option.h"
#include "storage/model/quantity_text.h"
#include "storage/model/size_limit.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace shardscope::run {
namespace {

using test::FailsWith;
using test::IsOk;
using testing::HasSubstr;

/// Every field away from its default.
RunConfig changed() {
    RunConfig config;
    // Of what must be one of a few words.
    static const std::map<std::string, std::string> kOtherWords = {
        {"strategy", "single"},    {"precision", "bf16"},   {"reduce", "bf16"},
        {"device", "cuda"},        {"capture", "light"},    {"device_capture", "kernels"},
        {"model.norm", "rmsnorm"}, {"model.ffn", "swiglu"}, {"model.position", "rope"},
        {"schedule", "linear"},    {"compress", "topk"},    {"transport", "gloo"},
        {"offload", "optimizer"},  {"attention", "flash"},  {"products", "mkl"},
        {"work", "measuring"}};
    for (const RunOption& field : runOptions()) {
        OptionValue value = field.get(config);
        if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
        if (auto* whole = std::get_if<std::int64_t>(&value)) *whole += 1;
        if (auto* number = std::get_if<double>(&value)) *number = (*number + 1) / 3;
        if (auto* text = std::get_if<std::string>(&value)) *text += "other \"text\"";
        if (kOtherWords.contains(field.key)) value = kOtherWords.at(field.key);
        EXPECT_TRUE(field.set(config, value).has_value()) << field.key;
    }
    return config;
}

std::string complaint(const RunConfig& config) {
    const auto valid = validate(config);
    EXPECT_FALSE(valid.has_value());
    if (valid) return "";
    EXPECT_EQ(valid.error().code, ErrorCode::kUsage);
    return valid.error().message;
}

TEST(RunConfig, EveryFieldComesBackFromJson) {
    const RunConfig config = changed();
    const RunConfig standard;
    EXPECT_NE(config, standard);
    const auto back = parseRunConfigJson(toJson(config));
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, config);
}

TEST(RunConfig, TheFieldTableKnowsEveryField) {
    // Setting all fields of the table from another configuration must give that configuration.
    const RunConfig source = changed();
    RunConfig target;
    for (const RunOption& field : runOptions()) {
        ASSERT_TRUE(field.set(target, field.get(source)).has_value());
    }
    EXPECT_EQ(target, source);
    // 86 members of RunConfig and 11 of its model: a new member changes the size.
    EXPECT_EQ(runOptions().size(), 97u);
}

TEST(RunConfig, RefusesAnUnknownKeyByName) {
    const auto back = parseRunConfigJson(R"({"learning_rat": 1})");
    ASSERT_FALSE(back.has_value());
    EXPECT_THAT(back.error().message, HasSubstr("unknown key 'learning_rat'"));
    EXPECT_THAT(back.error().message, HasSubstr("did you mean 'learning_rate'"));
}

TEST(RunConfig, RefusesAWrongTypeByName) {
    for (const char* json : {R"({"steps": "many"})", R"({"steps": 1.5})", R"({"steps": 1e300})",
                             R"({"steps": 5000000000})", R"({"steps": [1]})"}) {
        const auto back = parseRunConfigJson(json);
        ASSERT_FALSE(back.has_value()) << json;
        EXPECT_THAT(back.error().message, HasSubstr("steps")) << json;
    }
}

TEST(RunConfig, SuggestsTheStrategyThatWasMeant) {
    const auto back = parseRunConfigJson(R"({"strategy": "zero"})");
    ASSERT_FALSE(back.has_value());
    EXPECT_THAT(back.error().message, HasSubstr("did you mean 'zero1'"));
}

TEST(RunConfig, KnowsThePresetsOfTheDesign) {
    EXPECT_EQ(findModelPreset("ref"), (ModelConfig{"ref", 50'257, 512, 12, 16, 1024}));
    EXPECT_EQ(findModelPreset("tiny"), (ModelConfig{"tiny", 64, 32, 2, 2, 32}));
    EXPECT_EQ(findModelPreset("2.7B"), (ModelConfig{"2.7B", 10'000, 128, 32, 32, 2560}));
    EXPECT_EQ(findModelPreset("shakespeare"), ModelConfig{});
    EXPECT_EQ(modelPresets().size(), 8u);
    EXPECT_FALSE(findModelPreset("huge").has_value());
}

TEST(RunConfig, AllPresetsAreValid) {
    for (const ModelConfig& preset : modelPresets()) {
        RunConfig config;
        config.model = preset;
        EXPECT_TRUE(validate(config).has_value()) << preset.name;
    }
}

TEST(Validate, HiddenMustBeDivisibleByHeads) {
    RunConfig config;
    config.model.heads = 7;
    EXPECT_THAT(complaint(config), HasSubstr("a hidden size of 384 is not divisible by 7 heads"));
}

TEST(Validate, SingleTrainsOnOneRank) {
    RunConfig config;
    config.strategy = Strategy::kSingle;
    EXPECT_THAT(complaint(config), HasSubstr("--ranks 1"));
}

TEST(Validate, ByteDataNeedsTheVocabulary) {
    RunConfig config;
    config.model = *findModelPreset("tiny");
    config.data = "corpus.txt";
    EXPECT_THAT(complaint(config), HasSubstr("--vocabulary 256"));
    EXPECT_THAT(complaint(config), HasSubstr("--data synthetic takes any"));
    config.data = kSyntheticData;
    EXPECT_TRUE(validate(config).has_value());
    config.data.clear();
    config.reference = "some/folder";
    EXPECT_TRUE(validate(config).has_value());
}

TEST(Validate, SaysWhatIsForGpusOnly) {
    RunConfig config;
    config.precision = Precision::kTf32;
    EXPECT_THAT(complaint(config), HasSubstr("--device cuda"));
    config.device = Device::kCuda;
    EXPECT_TRUE(validate(config).has_value());
    config = {};
    config.shareDevice = true;
    EXPECT_THAT(complaint(config), HasSubstr("--share-device"));
    config = {};
    config.deviceCapture = DeviceCapture::kKernels;
    EXPECT_THAT(complaint(config), HasSubstr("--device-capture"));
}

TEST(Validate, AnAttentionKernelMustExistThere) {
    RunConfig config;
    config.attention = Attention::kBlocked;
    EXPECT_TRUE(validate(config).has_value());
    config.precision = Precision::kBFloat16;
    EXPECT_THAT(complaint(config), HasSubstr("--attention blocked exists for --precision fp32"));
    config = {};
    config.attention = Attention::kCudnn;
    EXPECT_THAT(complaint(config), HasSubstr("--attention cudnn exists on GPUs only"));
    config.device = Device::kCuda;
    EXPECT_TRUE(validate(config).has_value());
    config.attention = Attention::kBlocked;
    EXPECT_THAT(complaint(config), HasSubstr("use --attention auto"));
    config.attention = Attention::kFlash;
    EXPECT_TRUE(validate(config).has_value());
}

TEST(Validate, GradientsInBf16NeedComputingInBf16) {
    RunConfig config;
    config.reduceIn = GradientType::kBFloat16;
    EXPECT_THAT(complaint(config), HasSubstr("--precision bf16"));
    config.precision = Precision::kBFloat16;
    EXPECT_TRUE(validate(config).has_value());
}

TEST(RunConfig, OffloadIsFromAGpuAndOfShards) {
    RunConfig config;
    config.offload = Offload::kOptimizer;
    EXPECT_THAT(complaint(config), HasSubstr("where CPU ranks keep it anyway"));
    config.device = Device::kCuda;
    EXPECT_TRUE(validate(config));
    config.offload = Offload::kGradients;
    EXPECT_TRUE(validate(config));
    config.keepGradients = true;
    EXPECT_THAT(complaint(config), HasSubstr("keeping whole gradients does not have"));
    config.keepGradients = false;
    for (const Strategy strategy : {Strategy::kDdpBucket, Strategy::kZero1}) {
        config.strategy = strategy;
        EXPECT_THAT(complaint(config), HasSubstr("use --strategy zero2 or zero3"));
    }
    config.strategy = Strategy::kZero2;
    EXPECT_TRUE(validate(config));
}

TEST(RunConfig, VocabularyPiecesNeedAScheduleOfUnits) {
    RunConfig config;
    config.vocabularyPieces = 300;
    EXPECT_THAT(complaint(config), HasSubstr("the vocabulary has 256 tokens only"));
    config.vocabularyPieces = 4;
    EXPECT_TRUE(validate(config));
    config.keepGradients = true;
    EXPECT_THAT(complaint(config),
                HasSubstr("--vocabulary-pieces needs parameters to be gathered"));
    config.keepGradients = false;
    config.strategy = Strategy::kZero2;
    EXPECT_THAT(complaint(config), HasSubstr("--vocabulary-pieces is about zero3 and hsdp"));
    config.vocabularyPieces = 1;  // whole, as ever
    EXPECT_TRUE(validate(config));
}

TEST(RunConfig, TheCaptureLevelDecidesWhatIsTracedOnAGpu) {
    RunConfig config;
    EXPECT_EQ(effectiveDeviceCapture(config), DeviceCapture::kNever);
    config.device = Device::kCuda;
    EXPECT_EQ(effectiveDeviceCapture(config), DeviceCapture::kFull);
    config.capture = CaptureLevel::kLight;
    EXPECT_EQ(effectiveDeviceCapture(config), DeviceCapture::kKernels);
    config.capture = CaptureLevel::kSteps;
    EXPECT_EQ(effectiveDeviceCapture(config), DeviceCapture::kNever);
    config.deviceCapture = DeviceCapture::kIdle;
    EXPECT_EQ(effectiveDeviceCapture(config), DeviceCapture::kIdle);
}

TEST(Validate, TheCaptureScheduleMakesSense) {
    RunConfig config;
    config.alternateCapture = true;
    EXPECT_EQ(captureWishOf(config).every, 2);
    config.captureEvery = 3;
    EXPECT_THAT(validate(config), FailsWith("--alternate-capture"));
    config = {};
    for (const char* steps : {"x", "5-", "7-3", "99999999999"}) {
        config.captureSteps = steps;
        EXPECT_THAT(validate(config), FailsWith("--capture-steps")) << steps;
    }
}

TEST(Validate, NamesTheValueThatIsOutOfRange) {
    const auto with = [](auto change) {
        RunConfig config;
        change(config);
        return complaint(config);
    };
    EXPECT_THAT(with([](RunConfig& c) { c.steps = 0; }), HasSubstr("--steps is 0"));
    EXPECT_THAT(with([](RunConfig& c) { c.ranks = 0; }), HasSubstr("--ranks is 0"));
    EXPECT_THAT(with([](RunConfig& c) { c.learningRate = std::nan(""); }),
                HasSubstr("--lr is nan"));
    EXPECT_THAT(with([](RunConfig& c) { c.learningRate = 1e-9; }), HasSubstr("--min-lr"));
    EXPECT_THAT(with([](RunConfig& c) { c.heldBack = 0; }), HasSubstr("--held-back"));
    EXPECT_THAT(with([](RunConfig& c) { c.clip = -1; }), HasSubstr("--clip is -1"));
}

TEST(SizeLimits, AreReadAndRefusedInASentence) {
    for (const auto& [text, bytes] :
         {std::pair{"200MB", 200'000'000ll}, std::pair{"2 GB", 2'000'000'000ll},
          std::pair{"500MiB", 524'288'000ll}, std::pair{"1.5g", 1'500'000'000ll},
          std::pair{"7000000", 7'000'000ll}, std::pair{"64kib", 65'536ll}})
        EXPECT_EQ(parseSize(text).value_or(Bytes{}).count, bytes) << text;
    for (const char* text : {"", "much", "2XB", "MB", "-1MB", "2GB2", "nan", "2 G B", "0x10"})
        EXPECT_THAT(parseSize(text), FailsWith("is not a size: write it like 200MB")) << text;
    EXPECT_THAT(parseSize("9999999TB"), FailsWith("more than any file"));
    EXPECT_EQ(parseRate("2MB/s")->count, 2'000'000);
    EXPECT_EQ(parseRate("2MB")->count, 2'000'000);
    EXPECT_THAT(parseRate("2MB/h"), FailsWith("is not a rate: write it like 2MB/s"));
    RunConfig config;
    for (const auto& [text, sentence] : {std::pair{"1MB", "needs at least 4 MB"},
                                         std::pair{"huge", "--max-size: 'huge' is not a size"}}) {
        config.maxSize = text;
        EXPECT_THAT(validate(config), FailsWith(sentence));
    }
    config.maxSize = "200MB";
    EXPECT_THAT(validate(config), IsOk());
    config.maxRate = "1kB/s";
    EXPECT_THAT(validate(config), FailsWith("--max-rate 1kB/s"));
    config.maxRate.clear();
    config.captureSlow = 0.5;
    EXPECT_THAT(validate(config), FailsWith("--capture-slow 0.5"));
}

TEST(SizeLimits, GrowWithTimeUpToTheLargest) {
    const SizeLimit limit{Bytes{100'000'000}, Bytes{1'000'000}};
    EXPECT_EQ(limit.allowed({0}).count, 10'000'000);
    EXPECT_EQ(limit.allowed({60'000'000'000}).count, 70'000'000);
    EXPECT_TRUE(limit.rateBinds({60'000'000'000}));
    EXPECT_EQ(limit.allowed({3'600'000'000'000}).count, 100'000'000);
    EXPECT_FALSE(limit.rateBinds({3'600'000'000'000}));
    EXPECT_EQ(sizeText({1'234'567}), "1.23 MB");
}

}  // namespace
}  // namespace shardscope::run
