// What the recorder says, as the window hears it.
#include "engine/run/protocol/progress.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

template <class Event>
Event backAgain(const Event& event) {
    const auto decoded = decodeProgress(encodeProgress(event));
    EXPECT_TRUE(decoded && decoded->has_value());
    return std::get<Event>(**decoded);
}

TEST(Progress, ComesBackAsItWasSaid) {
    EXPECT_EQ(backAgain(RunStarted{"run.sscope", "ref", "zero3", 4, 20, 7}).parameters, 7);
    StepProgress step;
    step.step = 4;
    step.loss = 2.5;
    step.memory = Bytes{1 << 30};
    step.timeSeconds = 0.25;
    const StepProgress heard = backAgain(step);
    EXPECT_EQ(heard.loss, 2.5);
    EXPECT_EQ(heard.memory->count, 1 << 30);
    EXPECT_FALSE(heard.secondsLeft);
    EXPECT_EQ(heard.timeSeconds, 0.25);
    EXPECT_EQ(backAgain(ValidationDone{3, 1.5}).loss, 1.5);
    EXPECT_EQ(backAgain(RankChanged{1, "running", 77}).state, "running");
    EXPECT_EQ(backAgain(SampleText{3, "to\nbe"}).text, "to\nbe");
    const HostChanged host =
        backAgain(HostChanged{1, "node-b", "sending", "the program", Bytes{5}, Bytes{20}});
    EXPECT_EQ(host.name, "node-b");
    EXPECT_EQ(host.all.count, 20);
    EXPECT_EQ(backAgain(RecorderLog{"info", "two\nlines"}).text, "two\nlines");
    EXPECT_EQ(backAgain(RunFinished{"failed", "a", 5, "why"}).exitCode, 5);
}

TEST(Progress, FiguresOfARankComeBackAsTheyWereSaid) {
    RankFigures figures;
    figures.rank = 2;
    figures.step = 7;
    figures.phase = "wait for gather";
    figures.layer = 3;
    figures.phaseSeconds = 1.5;
    figures.waits = true;
    figures.queues = true;
    figures.tensors = Bytes{1 << 20};
    figures.residentSet = Bytes{1 << 21};
    figures.tokensPerSecond = 99.5;
    figures.stepsCounted = 4;
    EXPECT_EQ(encodeProgress(backAgain(figures)), encodeProgress(figures));
    EXPECT_EQ(encodeProgress(figures),
              R"({"event":"rank_figures","rank":2,"step":7,"phase":"wait for gather","layer":3,)"
              R"("phase_s":1.5,"waits":true,"queues":true,"tensor_bytes":1048576,)"
              R"("resident_bytes":2097152,"tokens_per_s":99.5,"steps_counted":4})");
}

TEST(Progress, WhatIsNotKnownOfARankIsNullAndStaysUnknown) {
    EXPECT_EQ(encodeProgress(RankFigures{}),
              R"({"event":"rank_figures","rank":0,"step":null,"phase":"","layer":null,)"
              R"("phase_s":null,"waits":false,"queues":false,"tensor_bytes":null,)"
              R"("resident_bytes":null,"tokens_per_s":null,"steps_counted":0})");
    const auto event = decodeProgress(R"({"event":"rank_figures","rank":1})");
    ASSERT_TRUE(event && event->has_value());
    const auto& figures = std::get<RankFigures>(**event);
    EXPECT_EQ(figures.rank, 1);
    EXPECT_FALSE(figures.step || figures.tensors || figures.residentSet || figures.tokensPerSecond);
}

TEST(Progress, IsOneLine) {
    EXPECT_EQ(encodeProgress(RecorderLog{"info", "a\nb"}),
              R"({"event":"log","level":"info","text":"a\nb"})");
}

TEST(Progress, EventsOfANewerRecorderAreIgnored) {
    const auto event = decodeProgress(R"({"event":"weather","sun":true})");
    ASSERT_TRUE(event);
    EXPECT_FALSE(event->has_value());
    EXPECT_FALSE(decodeProgress("[1,2]"));
    EXPECT_FALSE(decodeProgress("{"));
    EXPECT_FALSE(decodeProgress(R"({"event":"log","level":3})"));
}

TEST(Progress, MissingNumbersStayUnknown) {
    const auto event = decodeProgress(R"({"event":"step","step":4,"steps":9,"loss":null})");
    ASSERT_TRUE(event && event->has_value());
    const auto& step = std::get<StepProgress>(**event);
    EXPECT_EQ(step.step, 4);
    EXPECT_FALSE(step.loss.has_value());
    EXPECT_FALSE(step.memory.has_value());
}

}  // namespace
}  // namespace shardscope::run
