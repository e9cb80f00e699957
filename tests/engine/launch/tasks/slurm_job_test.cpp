#include "engine/launch/slurm/slurm_job.h"

#include "engine/launch/tasks/processor_set.h"
#include "engine/launch/tasks/task_handshake.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SlurmState stateOf(std::string_view text) {
    return parseSlurmState(text).value();
}

// Lines of Slurm 22.05, shortened.
TEST(SlurmJob, StatesAreReadAsSlurmWritesThem) {
    const SlurmState waits = stateOf(
        "JobId=7 JobName=JobState=no UserId=root(0) JobState=PENDING Reason=Resources "
        "Dependency=(null) ExitCode=0:0 ReqNodeList=(null) ExcNodeList=(null) NodeList=(null) "
        "NumNodes=1\n");
    EXPECT_EQ(waits, (SlurmState{"PENDING", "Resources", "", 0, 0}));
    EXPECT_TRUE(waits.isPending());
    EXPECT_FALSE(waits.isOver());
    const SlurmState runs =
        stateOf("JobId=7 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=node-[a07-a08]");
    EXPECT_EQ(runs, (SlurmState{"RUNNING", "None", "node-[a07-a08]", 0, 0}));
    EXPECT_FALSE(runs.isPending() || runs.isOver());
    const SlurmState failed =
        stateOf("JobId=7 JobState=FAILED Reason=NonZeroExitCode ExitCode=5:0 NodeList=vm");
    EXPECT_EQ(failed.exitCode, 5);
    EXPECT_TRUE(failed.isOver());
    const SlurmState killed =
        stateOf("JobId=7 JobState=CANCELLED Reason=None ExitCode=0:15 NodeList=vm");
    EXPECT_EQ(killed.signal, 15);
    EXPECT_TRUE(killed.isOver());
    EXPECT_FALSE(stateOf("JobState=COMPLETING Reason=None").isOver());
    EXPECT_FALSE(parseSlurmState("").has_value());
    EXPECT_FALSE(parseSlurmState("slurm_load_jobs error").has_value());
}

TEST(SlurmJob, OptionsAreTakenApartAsAShellWould) {
    EXPECT_THAT(optionWords("").value(), IsEmpty());
    EXPECT_THAT(optionWords(" --nodes 2\t-J 'a b'  --comment=\"it's\" ''").value(),
                ElementsAre("--nodes", "2", "-J", "a b", "--comment=it's", ""));
    EXPECT_THAT(optionWords("--comment 'no end").error().message, HasSubstr("has no end"));
}

TEST(SlurmJob, TheScriptQuotesWhatItRuns) {
    const std::string script =
        slurmScript({"/opt/a b/shardscope", "record", "--prompt", "it's"}, "t0k");
    EXPECT_THAT(script, AllOf(HasSubstr("#!/bin/sh\n"), HasSubstr("SHARDSCOPE_TASK_TOKEN='t0k'\n"),
                              HasSubstr("exec srun "),
                              HasSubstr("'/opt/a b/shardscope' 'record' '--prompt' 'it'\\''s'\n")));
}

TEST(ProcessorSet, IsWrittenAsTheKernelWritesIt) {
    EXPECT_EQ(toText({}), "");
    EXPECT_EQ(toText({3}), "3");
    EXPECT_EQ(toText({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    for (const ProcessorSet& set : {ProcessorSet{}, {3}, {0, 1, 2, 3, 8, 10, 11}})
        EXPECT_EQ(processorsOf(toText(set)), set);
}

TEST(ProcessorSet, WhatIsNoListIsEmpty) {
    EXPECT_THAT(processorsOf("0-1,5"), ElementsAre(0, 1, 5));
    for (const char* text : {"", ",", "1,", "a", "1-", "-1", "0-99999999", "1 2", "3-2"})
        EXPECT_THAT(processorsOf(text), IsEmpty()) << text;
}

TEST(ProcessorSet, TheProcessGoesOverToOthers) {
    const ProcessorSet all = ownProcessors();
    ASSERT_FALSE(all.empty());
    useProcessors({*all.begin()});
    EXPECT_THAT(ownProcessors(), ElementsAre(*all.begin()));
    useProcessors({});
    EXPECT_THAT(ownProcessors(), ElementsAre(*all.begin()));
    useProcessors(all);
    EXPECT_EQ(ownProcessors(), all);
}

const TaskHello kHello{false,  5,           8, "group 1", "node-a", "0-3,8", "shardscope 1.2 (abc)",
                       "run7", "0123456789"};

TEST(TaskWords, AHelloComesBackAsItWasSaid) {
    TaskHello agent = kHello;
    agent.agent = true;
    for (const TaskHello& hello : {kHello, agent}) {
        const std::string line = helloLine(hello);
        EXPECT_EQ(line.find('\n'), line.npos);
        EXPECT_LE(line.size(), kLongestTaskLine);
        const auto back = parseHello(line);
        ASSERT_TRUE(back.has_value());
        EXPECT_EQ(*back, hello);
    }
}

TEST(TaskWords, NamesCannotBreakTheLine) {
    TaskHello hello = kHello;
    hello.host = "node\n\tb\x7f" + std::string(5000, 'x');
    const auto back = parseHello(helloLine(hello));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->host.substr(0, 12), "node  b\\x7fx");
    EXPECT_EQ(back->product, kHello.product);
}

TEST(TaskWords, WhatIsNotAHelloOfThisVersionIsNone) {
    const std::string good = helloLine(kHello);
    std::string other = good;
    other.replace(other.find(" 2\t"), 2, " 1");
    std::string role = good;
    role.replace(role.find("task\t"), 4, "boss");
    for (const std::string& line :
         {std::string(), std::string("GET / HTTP/1.1"), other, role, good + "\tmore",
          good.substr(0, good.rfind('\t')), std::string(9, '\t')})
        EXPECT_FALSE(parseHello(line).has_value()) << line;
}

TEST(TaskWords, WhatIsTakenOfDamagedLinesIsWhole) {
    std::mt19937 random(1);  // NOLINT: the same each time
    const std::string good = helloLine(kHello);
    for (int round = 0; round < 20'000; ++round) {
        std::string line = good.substr(0, random() % (good.size() + 1));
        for (unsigned i = 0; i < random() % 4 && !line.empty(); ++i)
            line[random() % line.size()] = static_cast<char>(random());
        const auto hello = parseHello(line);
        if (!hello) continue;
        EXPECT_GE(hello->rank, 0);
        EXPECT_FALSE(hello->node.empty());
        EXPECT_EQ(parseHello(helloLine(*hello)), hello);
    }
}

TEST(TaskWords, WhatFollowsAWord) {
    EXPECT_EQ(after("end 3", "end"), "3");
    EXPECT_EQ(after("end", "end"), std::nullopt);
    EXPECT_EQ(after("ending 3", "end"), std::nullopt);
    EXPECT_EQ(after("end ", "end"), "");
}

}  // namespace
}  // namespace shardscope::launch
