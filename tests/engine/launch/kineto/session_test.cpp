// One window of all ranks: what they are asked for, when, and what came of it.
#include "engine/launch/kineto/session.h"

#include "tests/engine/launch/kineto/made_up_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::launch::kineto {
namespace {

using test::MadeUpProgram;
using test::numberIn;
using test::wholeTrace;
using testing::HasSubstr;
using testing::SizeIs;

SessionRequest bySteps(std::int32_t steps, std::int32_t fromStep) {
    SessionRequest request;
    request.window.steps = steps;
    request.window.fromStep = fromStep;
    return request;
}

TEST(KinetoSession, GivesAllRanksTheSameTime) {
    MadeUpProgram program;
    program.start(10, 0, 2);
    program.start(11, 1, 2);
    EXPECT_EQ(program.ask(10), "");
    program.session().tick(program.now());
    EXPECT_FALSE(program.session().hasBegun());  // the other one is awaited
    const auto got = program.pass(3, {10, 11});
    ASSERT_THAT(got, SizeIs(2));
    EXPECT_EQ(numberIn(got.at(10), "PROFILE_START_TIME"),
              numberIn(got.at(11), "PROFILE_START_TIME"));
    EXPECT_GT(numberIn(got.at(10), "PROFILE_START_TIME"), program.now());
    EXPECT_EQ(numberIn(got.at(10), "ACTIVITIES_DURATION_MSECS"), 500);
    EXPECT_THAT(got.at(10), HasSubstr("PROFILE_REPORT_INPUT_SHAPES=true"));
    program.write(10, got.at(10), wholeTrace());
    program.pass(2, {10, 11});
    EXPECT_FALSE(program.session().isOver());
    program.write(11, got.at(11), wholeTrace());
    program.pass(2, {10, 11});
    ASSERT_TRUE(program.session().isOver());
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.taken, SizeIs(2));
    EXPECT_EQ(outcome.taken[1].rank, 1);
    EXPECT_EQ(outcome.taken[1].trace, MadeUpProgram::fileOf(11, got.at(11)));
    EXPECT_TRUE(outcome.lost.empty());
    EXPECT_THAT(program.session().files(), SizeIs(2));
}

TEST(KinetoSession, AsksOnceByTime) {
    MadeUpProgram program;
    program.start(10, 0, 1);
    EXPECT_NE(program.pass(3, {10}).at(10), "");
    EXPECT_TRUE(program.pass(5, {10}).empty());
}

TEST(KinetoSession, RepeatsBySteps) {
    MadeUpProgram program(bySteps(3, 40));
    program.start(10, 0, 1);
    const auto got = program.pass(2, {10});
    EXPECT_EQ(numberIn(got.at(10), "PROFILE_START_ITERATION"), 40);
    EXPECT_EQ(numberIn(got.at(10), "ACTIVITIES_ITERATIONS"), 4);
    // Before its first step PyTorch drops it: until it is not idle any more.
    EXPECT_TRUE(program.pass(2, {10}).empty());
    EXPECT_EQ(program.pass(1, {10}).at(10), got.at(10));
    EXPECT_EQ(program.ask(10, false), "");
    program.write(10, got.at(10), {true, false, false, 0, 0, 0});
    EXPECT_EQ(program.ask(10), "");  // being written
    program.write(10, got.at(10), wholeTrace(3, 1000));
    program.pass(1, {10});
    EXPECT_TRUE(program.session().isOver());
    EXPECT_THAT(program.session().outcome().taken, SizeIs(1));
}

TEST(KinetoSession, DifferentStepsAreTakenAgain) {
    MadeUpProgram program(bySteps(3, 40));
    program.start(10, 0, 2);
    program.start(11, 1, 2);
    auto got = program.pass(3, {10, 11});
    program.write(10, got.at(10), wholeTrace(3, 0));
    program.write(11, got.at(11), wholeTrace(3, 40'000'000));
    got = program.pass(3, {10, 11});
    ASSERT_THAT(got, SizeIs(2));
    EXPECT_FALSE(program.session().isOver());
    EXPECT_EQ(numberIn(got.at(10), "PROFILE_START_ITERATION_ROUNDUP"), 160);
    program.write(10, got.at(10), wholeTrace(3, 60'000'000));
    program.write(11, got.at(11), wholeTrace(3, 60'100'000));
    program.pass(2, {10, 11});
    ASSERT_TRUE(program.session().isOver());
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.taken, SizeIs(2));
    EXPECT_EQ(outcome.taken[0].trace, MadeUpProgram::fileOf(10, got.at(10)));
    EXPECT_TRUE(outcome.notes.empty());
}

TEST(KinetoSession, AnEarlierTryIsBetterThanNothing) {
    MadeUpProgram program(bySteps(3, 40));
    program.start(10, 0, 2);
    program.start(11, 1, 2);
    const auto got = program.pass(3, {10, 11});
    program.write(10, got.at(10), wholeTrace(3, 0));
    program.write(11, got.at(11), wholeTrace(3, 40'000'000));
    program.pass(2, {10, 11});
    program.session().stop("the program ended");
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.taken, SizeIs(2));
    EXPECT_EQ(outcome.taken[0].trace, MadeUpProgram::fileOf(10, got.at(10)));
    ASSERT_THAT(outcome.notes, SizeIs(1));
    EXPECT_THAT(outcome.notes[0], HasSubstr("different steps"));
}

TEST(KinetoSession, ARankThatDiesIsNamed) {
    MadeUpProgram program;
    program.start(10, 0, 2);
    program.start(11, 1, 2);
    const auto got = program.pass(3, {10, 11});
    program.end(11);
    program.write(10, got.at(10), wholeTrace());
    program.pass(2, {10});
    ASSERT_TRUE(program.session().isOver());
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.lost, SizeIs(1));
    EXPECT_EQ(outcome.lost[0].rank, 1);
    EXPECT_TRUE(outcome.lost[0].ended);
    EXPECT_THAT(outcome.lost[0].reason, HasSubstr("ended before its trace was written"));
}

TEST(KinetoSession, SilentBusyAndCutOffRanksAreNamed) {
    MadeUpProgram program;
    program.start(10, 0, 3);
    program.start(11, 1, 3);
    program.start(12, 2, 3);
    program.ask(10);
    program.ask(11);
    program.ask(12, false);
    std::map<pid_t, std::string> got;
    for (int second = 0; second < 30; ++second) {
        program.ask(12, false);
        for (auto& [pid, text] : program.pass(1, {10, 11})) got[pid] = text;
        if (second == 5) program.write(11, got.at(11), {true, false, false, 0, 0, 0});
    }
    ASSERT_TRUE(program.session().isOver());
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.lost, SizeIs(3));
    EXPECT_THAT(outcome.lost[0].reason, HasSubstr("wrote no trace"));
    EXPECT_THAT(outcome.lost[1].reason, HasSubstr("cut off"));
    EXPECT_THAT(outcome.lost[2].reason, HasSubstr("another trace went on"));
}

TEST(KinetoSession, TheEndOfTheProgramIsTheReason) {
    MadeUpProgram program;
    program.start(10, 0, 1);
    program.pass(1, {10});
    program.session().stop("the program ended");
    ASSERT_TRUE(program.session().isOver());
    const Outcome outcome = program.session().outcome();
    ASSERT_THAT(outcome.lost, SizeIs(1));
    EXPECT_EQ(outcome.lost[0].reason, "the program ended");
}

TEST(KinetoSession, WithoutAnyProcessItEndsOrWaitsAsItIsAsked) {
    SessionRequest request;
    request.wait = Milliseconds{5000};
    MadeUpProgram attached(request);
    attached.pass(7, {});
    EXPECT_TRUE(attached.session().isOver());
    EXPECT_EQ(attached.session().outcome().asked, 0);
    request.endless = true;
    MadeUpProgram recorded(request);
    recorded.pass(100, {});
    EXPECT_FALSE(recorded.session().isOver());
}

TEST(KinetoSession, OtherBytesAndOtherUsersGetNothing) {
    MadeUpProgram program;
    program.start(10, 0, 1);
    EXPECT_FALSE(program.session().hear("no message", 10, ::geteuid(), program.now()));
    EXPECT_FALSE(program.session().hear(test::request({10}), 10, ::geteuid() + 1, program.now()));
    EXPECT_TRUE(program.session().hear(test::registration(0, 10), 10, ::geteuid(), program.now()));
    program.session().stop("");
    EXPECT_EQ(program.session().outcome().asked, 0);
    EXPECT_EQ(program.ask(10), "");  // over
}

TEST(KinetoSession, ManyProcessesAreBounded) {
    MadeUpProgram program;
    for (pid_t pid = 1000; pid < 3000; ++pid) program.ask(pid);
    program.session().stop("");
    EXPECT_LE(program.session().outcome().asked, 512);
}

}  // namespace
}  // namespace shardscope::launch::kineto
