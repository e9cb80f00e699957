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
    const HostChanged host =
        backAgain(HostChanged{1, "node-b", "sending", "the program", Bytes{5}, Bytes{20}});
    EXPECT_EQ(host.name, "node-b");
    EXPECT_EQ(host.all.count, 20);
    EXPECT_EQ(backAgain(RecorderLog{"info", "two\nlines"}).text, "two\nlines");
    EXPECT_EQ(backAgain(RunFinished{"failed", "a", 5, "why"}).exitCode, 5);
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
