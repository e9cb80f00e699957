#include "engine/run/config/capture_schedule.h"

#include "storage/model/quantity_text.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

using test::FailsWith;
using test::IsOk;

std::string levels(const CaptureSchedule& schedule, std::int32_t steps) {
    std::string text;
    for (std::int32_t step = 0; step < steps; ++step) text += toWord(schedule.levelOf(step))[0];
    return text;
}

CaptureSchedule scheduleOf(const RunConfig& config, const CaptureChange& change = {}) {
    auto schedule = CaptureSchedule::of(config, change);
    EXPECT_THAT(schedule, IsOk());
    return schedule ? *schedule : CaptureSchedule{};
}

TEST(CaptureSchedule, TakesEveryStepUnlessTold) {
    EXPECT_EQ(levels(scheduleOf({}), 4), "ffff");
    RunConfig config;
    config.capture = CaptureLevel::kLight;
    EXPECT_EQ(levels(scheduleOf(config), 3), "lll");
    config.capture = CaptureLevel::kOff;
    EXPECT_EQ(levels(scheduleOf(config), 2), "oo");
}

TEST(CaptureSchedule, TakesTheStepsThatAreListed) {
    RunConfig config;
    config.captureSteps = "2-3, 6";
    EXPECT_EQ(levels(scheduleOf(config), 8), "ssffssfs");
    config.captureEvery = 5;
    EXPECT_EQ(levels(scheduleOf(config), 8), "fsffsffs");
    config.capture = CaptureLevel::kOff;
    EXPECT_EQ(levels(scheduleOf(config), 4), "oooo");
}

TEST(CaptureSchedule, AlternatesWhereCaptureIsToBeMeasured) {
    RunConfig config;
    config.alternateCapture = true;
    EXPECT_EQ(levels(scheduleOf(config), 5), "fsfsf");
    config.captureEvery = 3;
    EXPECT_THAT(validate(config), FailsWith("--alternate-capture"));
}

TEST(CaptureSchedule, ChangesWhileTheRunGoesOn) {
    RunConfig config;
    config.captureEvery = 4;
    EXPECT_EQ(levels(scheduleOf(config, {"light", "", 0}), 3), "lll");
    EXPECT_EQ(levels(scheduleOf(config, {"", "1", 0}), 3), "sfs");
    EXPECT_EQ(levels(scheduleOf(config, {"light", "", 2}), 3), "lsl");
    EXPECT_EQ(scheduleOf(config, {"light", "", 2}).reason(), DetailReason::kRequest);
    EXPECT_EQ(levels(scheduleOf(config, {}), 5), "fsssf");
    EXPECT_EQ(scheduleOf(config, {}).reason(), DetailReason::kSchedule);
}

TEST(CaptureSchedule, RefusesWhatMakesNoSense) {
    RunConfig config;
    for (const char* steps : {"x", "5-", "-5", "7-3", "1,,2", "1-2-3", "1.5", "99999999999"}) {
        config.captureSteps = steps;
        EXPECT_THAT(CaptureSchedule::of(config), FailsWith("write it like 10-20,500-520")) << steps;
        EXPECT_THAT(validate(config), FailsWith("--capture-steps")) << steps;
    }
    config.captureSteps.clear();
    config.capture = CaptureLevel::kLight;
    EXPECT_THAT(CaptureSchedule::of(config, {"full", "", 0}), FailsWith("not to 'full'"));
    EXPECT_THAT(CaptureSchedule::of(config, {"much", "", 0}), FailsWith("not to 'much'"));
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
