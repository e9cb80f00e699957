// Which processes are ranks, and why some are not there.
#include "engine/launch/kineto/session.h"
#include "tests/engine/launch/kineto/made_up_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::launch::kineto {
namespace {

using test::MadeUpProgram;
using test::wholeTrace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::int32_t> ranksOf(const Outcome& outcome) {
    std::vector<std::int32_t> ranks;
    for (const Taken& each : outcome.taken) ranks.push_back(each.rank);
    return ranks;
}

/// Lets all of `pids` ask, and those that are asked write.
Outcome recorded(MadeUpProgram& program, const std::vector<pid_t>& pids,
                 const std::set<pid_t>& without = {}) {
    std::map<pid_t, std::string> got;
    for (int second = 0; second < 100 && !program.session().isOver(); ++second)
        for (const auto& [pid, text] : program.pass(1, pids)) {
            auto trace = wholeTrace();
            trace.hasWork = !without.contains(pid);
            program.write(pid, text, trace);
        }
    EXPECT_TRUE(program.session().isOver());
    return program.session().outcome();
}

TEST(KinetoRanks, LaunchersAndHelpersAreNone) {
    MadeUpProgram program;
    program.start(9, -1, 0, "python /bin/torchrun --nproc-per-node 2 t.py");
    program.start(10, 0, 2, "python t.py torchrun", {9, 1});
    program.start(11, 1, 2, "python t.py", {9, 1});
    program.start(12, 1, 2, "python t.py", {11, 9, 1});  // a loader of rank 1, with its variables
    program.start(13, 0, 2, "python torch/_inductor/compile_worker/__main__.py", {10, 9, 1});
    const Outcome outcome = recorded(program, {9, 10, 11, 12, 13});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0, 1));
    EXPECT_TRUE(outcome.lost.empty());
    EXPECT_THAT(outcome.notes, SizeIs(3));
    EXPECT_THAT(outcome.notes[0], HasSubstr("starts ranks and is none"));
}

TEST(KinetoRanks, ALauncherOfAnotherNameIsKnownByItsRanks) {
    MadeUpProgram program;
    program.start(9, -1, 0, "python start.py");
    program.start(10, 0, 2, "python t.py", {8, 9, 1});
    program.start(11, 1, 2, "python t.py", {8, 9, 1});
    const Outcome outcome = recorded(program, {9, 10, 11});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0, 1));
    EXPECT_TRUE(outcome.lost.empty());
}

TEST(KinetoRanks, WithoutNumbersTheyAreCountedFromTheFirstOn) {
    MadeUpProgram program;
    program.start(9);  // mp.spawn's parent, which waits
    program.start(20, -1, 0, "python -c spawn_main", {9, 1});
    program.start(21, -1, 0, "python -c spawn_main", {9, 1});
    const Outcome outcome = recorded(program, {9, 20, 21}, {9});
    ASSERT_THAT(outcome.taken, SizeIs(2));
    EXPECT_EQ(outcome.taken[0].pid, 20);
    EXPECT_EQ(outcome.taken[0].rank, 0);
    EXPECT_EQ(outcome.taken[1].pid, 21);
    EXPECT_TRUE(outcome.lost.empty());
    EXPECT_THAT(outcome.notes, SizeIs(2));
}

TEST(KinetoRanks, OneNumberTwiceIsTwoPrograms) {
    MadeUpProgram program;
    program.start(10, 0, 1);
    program.start(11, 0, 1);
    program.ask(10);
    program.ask(11);
    const Outcome outcome = recorded(program, {10, 11});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0));
    ASSERT_THAT(outcome.lost, SizeIs(1));
    EXPECT_THAT(outcome.lost[0].reason, HasSubstr("name the processes of one program"));
}

TEST(KinetoRanks, ALaterAttemptTakesThePlaceOfOneThatEnded) {
    MadeUpProgram program;
    program.start(10, 0, 2);
    program.ask(10);
    program.end(10);
    program.session().tick(program.now());
    program.start(12, 0, 2);
    program.start(13, 1, 2);
    const Outcome outcome = recorded(program, {12, 13});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0, 1));
    EXPECT_EQ(outcome.taken[0].pid, 12);
}

TEST(KinetoRanks, ThoseThatNeverAskHaveReasons) {
    SessionRequest request;
    request.root = 1;
    request.wait = Milliseconds{8000};
    MadeUpProgram program(request);
    for (int rank = 0; rank < 4; ++rank) program.start(10 + rank, rank, 4);
    program.eyes().processes[11].wantsDaemon = false;
    program.eyes().processes[12].socketFolder = "/elsewhere";
    const Outcome outcome = recorded(program, {10});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0));
    ASSERT_THAT(outcome.lost, SizeIs(3));
    EXPECT_EQ(outcome.lost[0].rank, 1);
    EXPECT_EQ(outcome.lost[0].pid, 11);
    EXPECT_THAT(outcome.lost[0].reason, HasSubstr("KINETO_USE_DAEMON is not in its environment"));
    EXPECT_THAT(outcome.lost[1].reason, HasSubstr("/elsewhere"));
    EXPECT_THAT(outcome.lost[2].reason, HasSubstr("has not loaded PyTorch"));
}

TEST(KinetoRanks, OnlyNamedOnesAreAsked) {
    SessionRequest request;
    request.only = {10, 99};
    MadeUpProgram program(request);
    program.start(10, 0, 2);
    program.start(11, 1, 2);
    const Outcome outcome = recorded(program, {10, 11});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0));
    ASSERT_THAT(outcome.lost, SizeIs(1));
    EXPECT_EQ(outcome.lost[0].pid, 99);
    EXPECT_THAT(outcome.lost[0].reason, HasSubstr("no such process"));
}

TEST(KinetoRanks, ANamedLauncherStandsForItsRanks) {
    SessionRequest request;
    request.only = {9};
    MadeUpProgram program(request);
    program.start(9, -1, 0, "python torchrun t.py");
    program.start(10, 0, 2, "python t.py", {9, 1});
    program.start(11, 1, 2, "python t.py", {9, 1});
    program.start(30, 0, 1, "python other.py", {1});
    const Outcome outcome = recorded(program, {9, 10, 11, 30});
    EXPECT_THAT(ranksOf(outcome), ElementsAre(0, 1));
    EXPECT_TRUE(outcome.lost.empty());
}

}  // namespace
}  // namespace shardscope::launch::kineto
