#include "storage/model/capture_schedule.h"

#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

using test::FailsWith;
using test::IsOk;

std::string levels(const CaptureSchedule& schedule, std::int32_t steps) {
    std::string text;
    for (std::int32_t step = 0; step < steps; ++step) text += toWord(schedule.levelOf(step))[0];
    return text;
}

CaptureSchedule scheduleOf(const CaptureWish& wish, const CaptureChange& change = {}) {
    auto schedule = CaptureSchedule::of(wish, change);
    EXPECT_THAT(schedule, IsOk());
    return schedule ? *schedule : CaptureSchedule{};
}

TEST(CaptureSchedule, TakesEveryStepUnlessTold) {
    EXPECT_EQ(levels(scheduleOf({}), 4), "ffff");
    CaptureWish wish;
    wish.level = CaptureLevel::kLight;
    EXPECT_EQ(levels(scheduleOf(wish), 3), "lll");
    wish.level = CaptureLevel::kOff;
    EXPECT_EQ(levels(scheduleOf(wish), 2), "oo");
}

TEST(CaptureSchedule, TakesTheStepsThatAreListed) {
    CaptureWish wish;
    wish.steps = "2-3, 6";
    EXPECT_EQ(levels(scheduleOf(wish), 8), "ssffssfs");
    wish.every = 5;
    EXPECT_EQ(levels(scheduleOf(wish), 8), "fsffsffs");
    wish.level = CaptureLevel::kOff;
    EXPECT_EQ(levels(scheduleOf(wish), 4), "oooo");
}

TEST(CaptureSchedule, AlternatesWhereCaptureIsToBeMeasured) {
    CaptureWish wish;
    wish.every = 2;
    EXPECT_EQ(levels(scheduleOf(wish), 5), "fsfsf");
}

TEST(CaptureSchedule, ChangesWhileTheRunGoesOn) {
    CaptureWish wish;
    wish.every = 4;
    EXPECT_EQ(levels(scheduleOf(wish, {"light", "", 0}), 3), "lll");
    EXPECT_EQ(levels(scheduleOf(wish, {"", "1", 0}), 3), "sfs");
    EXPECT_EQ(levels(scheduleOf(wish, {"light", "", 2}), 3), "lsl");
    EXPECT_EQ(scheduleOf(wish, {"light", "", 2}).reason(), DetailReason::kRequest);
    EXPECT_EQ(levels(scheduleOf(wish, {}), 5), "fsssf");
    EXPECT_EQ(scheduleOf(wish, {}).reason(), DetailReason::kSchedule);
}

TEST(CaptureSchedule, RefusesWhatMakesNoSense) {
    CaptureWish wish;
    for (const char* steps : {"x", "5-", "-5", "7-3", "1,,2", "1-2-3", "1.5", "99999999999"}) {
        wish.steps = steps;
        EXPECT_THAT(CaptureSchedule::of(wish), FailsWith("write it like 10-20,500-520")) << steps;
    }
    wish.steps.clear();
    wish.level = CaptureLevel::kLight;
    EXPECT_THAT(CaptureSchedule::of(wish, {"full", "", 0}), FailsWith("not to 'full'"));
    EXPECT_THAT(CaptureSchedule::of(wish, {"much", "", 0}), FailsWith("not to 'much'"));
}

}  // namespace
}  // namespace shardscope
