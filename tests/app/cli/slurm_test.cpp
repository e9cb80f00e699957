// `record --slurm` with programs that are called as Slurm's and behave as its worst days: a job
// that waits, output that comes after the job's end, a controller that does not answer. The real
// one is tests/slurm.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SlurmSubmission : public CliTest {
protected:
    SlurmSubmission() {
        fs::create_directories(path("bin"));
        environment["PATH"] = path("bin") + ":/usr/bin:/bin";
        // Keeps what it is given, and tells a number as with several clusters.
        program("sbatch", "cat > " + path("script") + "; echo \"$@\" > " + path("words") +
                              "; echo '42;cluster'");
        program("scancel", "echo \"$@\" >> " + path("cancelled"));
        say("PENDING Reason=Priority ExitCode=0:0");
    }
    void program(const std::string& name, const std::string& lines) const {
        const std::string file = path("bin/" + name);
        std::ofstream(file) << "#!/bin/sh\n" << lines << '\n';
        fs::permissions(file, fs::perms::owner_all);
    }
    /// What scontrol says from now on.
    void say(const std::string& state) const {
        std::ofstream(path("state.new")) << "JobId=42 NodeList=vm JobState=" << state << '\n';
        fs::rename(path("state.new"), path("state"));
        program("scontrol.new", "cat " + path("state"));
        fs::rename(path("bin/scontrol.new"), path("bin/scontrol"));
    }
    std::unique_ptr<Program> submit(const std::vector<std::string>& more = {},
                                    const std::string& options = "") {
        std::vector<std::string> words = {"--slurm", options};
        words.insert(words.end(), more.begin(), more.end());
        return startRecord(words);
    }
    bool heard(const Program& run, const std::string& text) const {
        return eventually([&] { return run.err().find(text) != std::string::npos; });
    }
    std::string file(const std::string& name) const {
        std::ifstream stream(path(name));
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::string jobOutput() const { return output() + ".slurm-42.out"; }
};

TEST_F(SlurmSubmission, TheJobDoesTheRunThatWasAskedFor) {
    say("COMPLETED Reason=None ExitCode=0:0");
    std::ofstream(jobOutput()) << "what the job says\n";
    const auto run = submit({"--ranks", "3", "--steps", "7", "--force"}, "--qos 'low one'");
    EXPECT_EQ(run->wait(), 0) << run->err();
    EXPECT_THAT(run->err(), HasSubstr("what the job says\n"));
    EXPECT_THAT(file("words"), AllOf(HasSubstr("--qos low one --ntasks=3 --output="),
                                     HasSubstr("run.sscope.slurm-%j.out")));
    EXPECT_THAT(file("script"),
                AllOf(HasSubstr("'--steps' '7'"), HasSubstr("'--launched-by' 'slurm' '--force'"),
                      Not(HasSubstr("'--ranks'")), Not(HasSubstr("'--slurm'"))));
}

TEST_F(SlurmSubmission, OfAProgramTheJobHasItsWordsAndWhatWasSaidOfIt) {
    say("COMPLETED Reason=None ExitCode=0:0");
    std::ofstream(jobOutput()) << "what the job says\n";
    const auto run =
        start({"record", "--slurm", "", "-o", output(), "--capture", "light", "--step-range", "s.*",
               "--stall", "5s", "--env", "A=b c", "--", "python", "train.py", "--slurm"});
    EXPECT_EQ(run->wait(), 0) << run->err();
    EXPECT_THAT(file("words"), HasSubstr("--ntasks=1"));
    EXPECT_THAT(
        file("script"),
        AllOf(HasSubstr("'--capture' 'light'"), HasSubstr("'--step-range' 's.*'"),
              HasSubstr("'--stall' '5' '--env' 'A=b c' '--' 'python' 'train.py' '--slurm'")));
}

TEST_F(SlurmSubmission, MakesTheTasksSecretItself) {
    for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
             {"--trust-network"}, {"--task-token-file", "token"}}) {
        const auto refused = submit(flags);
        EXPECT_EQ(refused->wait(), 2);
        EXPECT_THAT(refused->err(), HasSubstr("--slurm gives the job's tasks its own secret"));
    }
}

TEST_F(SlurmSubmission, TasksThatAreCountedInOptionsLeaveRanksToTheJob) {
    say("COMPLETED Reason=None ExitCode=0:0");
    std::ofstream(jobOutput()) << "x\n";
    EXPECT_EQ(submit({"--ranks", "8"}, "--nodes 2 --ntasks-per-node 1")->wait(), 0);
    EXPECT_THAT(file("words"), Not(HasSubstr("--ntasks=")));
    EXPECT_THAT(file("script"), HasSubstr("'--ranks' '8'"));
}

TEST_F(SlurmSubmission, WaitsForAJobThatWaitsAndForOutputThatIsLate) {
    const auto run = submit();
    ASSERT_TRUE(heard(*run, "job 42: pending on vm (Priority)")) << run->err();
    say("RUNNING Reason=None ExitCode=0:0");
    ASSERT_TRUE(heard(*run, "job 42: running on vm")) << run->err();
    say("FAILED Reason=NonZeroExitCode ExitCode=5:0");
    ::sleep(2);  // a shared file system shows the file only now
    std::ofstream(jobOutput()) << "the last words\n";
    EXPECT_EQ(run->wait(), 5);
    EXPECT_THAT(run->err(), HasSubstr("the last words\n"));
}

TEST_F(SlurmSubmission, AControllerThatDoesNotAnswerIsAskedAgain) {
    program("scontrol",
            "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    const auto run = submit();
    ASSERT_TRUE(heard(*run, "Slurm does not answer")) << run->err();
    EXPECT_THAT(run->err(), HasSubstr("Unable to contact slurm controller"));
    std::ofstream(jobOutput()) << "x\n";
    say("COMPLETED Reason=None ExitCode=0:0");
    EXPECT_EQ(run->wait(), 0) << run->err();
}

TEST_F(SlurmSubmission, AJobThatIsForgottenOrLostIsSaid) {
    std::ofstream(jobOutput()) << "x\n";
    program("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    auto run = submit();
    EXPECT_EQ(run->wait(), 1);
    EXPECT_THAT(run->err(), HasSubstr("Slurm no longer knows job 42"));
    say("NODE_FAIL Reason=NodeDown ExitCode=0:9");
    run = submit();
    EXPECT_EQ(run->wait(), 4);
    EXPECT_THAT(run->err(), HasSubstr("job 42 ended as NODE_FAIL by signal 9 (Killed) (NodeDown)"));
}

TEST_F(SlurmSubmission, InterruptsStopFirstAndCancelThen) {
    say("RUNNING Reason=None ExitCode=0:0");
    std::ofstream(jobOutput()) << "x\n";
    const auto run = submit();
    ASSERT_TRUE(heard(*run, "running on vm"));
    run->signal(SIGINT);
    ASSERT_TRUE(heard(*run, "stopping after this step"));
    EXPECT_TRUE(eventually([this] { return file("cancelled") == "--signal=INT 42\n"; }));
    run->signal(SIGINT);
    ASSERT_TRUE(heard(*run, "job 42: cancelling"));
    EXPECT_TRUE(eventually([this] { return file("cancelled") == "--signal=INT 42\n42\n"; }));
    say("CANCELLED Reason=None ExitCode=0:15");
    EXPECT_EQ(run->wait(), 130);
}

TEST_F(SlurmSubmission, WhatCannotBeSubmittedIsRefused) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--json"}, "--json and --control"},
        {{"--hosts", "node-a"}, "leave out --hosts"},
        {{"--strategy", "hsdp", "--ranks", "4", "--shard-ranks", "3"}, "--shard-ranks 3"}};
    for (const auto& [words, sentence] : cases) {
        const auto run = submit(words);
        EXPECT_EQ(run->wait(), 2) << run->err();
        EXPECT_THAT(run->err(), HasSubstr(sentence));
    }
    EXPECT_EQ(submit({}, "--comment 'no end")->wait(), 2);
    fs::remove(path("bin/sbatch"));
    environment["PATH"] = path("bin");
    const auto run = submit();
    EXPECT_EQ(run->wait(), 4);
    EXPECT_THAT(run->err(), HasSubstr("sbatch is not in PATH"));
    EXPECT_FALSE(fs::exists(path("script")));
}

}  // namespace
}  // namespace shardscope::cli
