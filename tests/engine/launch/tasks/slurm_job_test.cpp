#include "engine/launch/slurm/slurm_job.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace shardscope::launch
