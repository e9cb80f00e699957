// Every bad input of the recorder: its exit status, and a sentence that says what, where and
// what to do.
#include "engine/launch/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BadInput : public CliTest {
protected:
    void expect(const std::vector<std::string>& arguments, int status,
                const testing::Matcher<std::string>& sentence) {
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), status);
        EXPECT_THAT(program->err(), sentence);
    }
    void expectRecord(const std::vector<std::string>& more, int status,
                      const testing::Matcher<std::string>& sentence) {
        // Given last, so that a test can name its own data and output.
        std::vector<std::string> arguments = {"record"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto has = [&](const char* flag) {
            return std::find(more.begin(), more.end(), flag) != more.end();
        };
        if (!has("--data")) arguments.insert(arguments.end(), {"--data", path("text.txt")});
        if (!has("--output")) arguments.insert(arguments.end(), {"--output", output()});
        expect(arguments, status, sentence);
    }
};

TEST_F(BadInput, UnknownCommandIsUsage) {
    expect({"recrod"}, 2, AllOf(HasSubstr("'recrod'"), HasSubstr("did you mean 'record'")));
    expect({}, 2, HasSubstr("shardscope --help"));
}

TEST_F(BadInput, UnknownFlagIsUsage) {
    expectRecord({"--stepps", "3"}, 2,
                 AllOf(HasSubstr("--stepps"), HasSubstr("did you mean --steps?")));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(BadInput, UnknownModelAndStrategyAreUsageWithASuggestion) {
    expectRecord({"--model", "shakespear"}, 2, HasSubstr("did you mean 'shakespeare'"));
    expectRecord({"--strategy", "zero33"}, 2, HasSubstr("did you mean 'zero3'"));
    expectRecord({"--capture", "ful"}, 2, HasSubstr("did you mean 'full'"));
}

TEST_F(BadInput, ValuesThatAreNoNumbersAreUsage) {
    expectRecord({"--steps", "many"}, 2, AllOf(HasSubstr("--steps"), HasSubstr("whole number")));
    expectRecord({"--lr", "fast"}, 2, AllOf(HasSubstr("--lr"), HasSubstr("number")));
    expectRecord({"--steps", "0"}, 2, HasSubstr("steps is 0"));
}

TEST_F(BadInput, HiddenNotDivisibleByHeadsIsUsage) {
    expectRecord({"--heads", "5"}, 2,
                 AllOf(HasSubstr("a hidden size of 384 is not divisible by 5 heads"),
                       HasSubstr("--hidden")));
}

TEST_F(BadInput, WhatAStrategyCannotDoIsUsage) {
    expectRecord({"--strategy", "ddp-bucket", "--bucket-mb", "0"}, 2,
                 HasSubstr("bucket-mb is 0; give a value from"));
    expectRecord({"--strategy", "hsdp", "--ranks", "4", "--shard-ranks", "3"}, 2,
                 HasSubstr("--shard-ranks 3 does not divide the 4 ranks"));
    expectRecord({"--shard-ranks", "2"}, 2, HasSubstr("--shard-ranks is about --strategy hsdp"));
    expectRecord({"--strategy", "zero1", "--keep-gathered"}, 2,
                 HasSubstr("--keep-gathered is about zero3 and hsdp, not zero1"));
    expectRecord({"--checkpoint-every", "2"}, 2, HasSubstr("add --checkpoint DIR"));
    expectRecord({"--sample", "9", "--evaluate-every", "0"}, 2, HasSubstr("--evaluate-every"));
    expectRecord({"--interface", "lo"}, 2, HasSubstr("--transport gloo"));
    expectRecord({"--compress", "topk"}, 2, HasSubstr("--compress is about what ddp-*"));
    expectRecord({"--model", "tiny", "--hidden", "2", "--ranks", "64"}, 2,
                 AllOf(HasSubstr("64 ranks cannot share"), HasSubstr("--ranks")));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(BadInput, ACheckpointThatIsNoneIsUnreadable) {
    expectRecord({"--resume", path("nowhere")}, 3, HasSubstr("nowhere is no folder"));
    std::filesystem::create_directory(path("empty"));
    expectRecord({"--resume", path("empty")}, 3, HasSubstr("holds no whole checkpoint"));
    expect({"export", path("empty"), "--format", "safetensors", "-o", path("x.safetensors")}, 3,
           HasSubstr("holds no whole checkpoint"));
}

TEST_F(BadInput, MissingDataIsUnreadable) {
    expectRecord({"--data", path("nothing.txt")}, 3,
                 AllOf(HasSubstr("nothing.txt"), HasSubstr("--data")));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(BadInput, EmptyDataIsUnreadable) {
    std::ofstream(path("empty.txt")).close();
    expectRecord({"--data", path("empty.txt")}, 3,
                 AllOf(HasSubstr("empty.txt is empty"), HasSubstr("--data")));
    std::filesystem::create_directory(path("folder"));
    expectRecord({"--data", path("folder")}, 3, HasSubstr("holds no text file"));
}

TEST_F(BadInput, BinaryDataIsUnreadable) {
    std::ofstream(path("program"), std::ios::binary).write("ab\0cd", 5);
    expectRecord({"--data", path("program")}, 3,
                 AllOf(HasSubstr("program is binary"), HasSubstr("--data")));
}

TEST_F(BadInput, DataThatARankCannotReadIsUnreadable) {
    environment["FAKE_RANK_MODE"] = "data";
    expectRecord({}, 3, HasSubstr("the data file cannot be read"));
}

TEST_F(BadInput, AnExistingOutputIsKeptUnlessForced) {
    std::ofstream(output()) << "precious";
    expectRecord({}, 2, HasSubstr("run.sscope already exists"));
    expectRecord({"--force"}, 2, AllOf(HasSubstr("run.sscope"), HasSubstr("is not a recording")));
    EXPECT_EQ(std::filesystem::file_size(output()), 8u);
    std::filesystem::remove(output());
    expectRecord({}, 0, HasSubstr("Recorded 40 steps"));
    expectRecord({}, 2, AllOf(HasSubstr("run.sscope"), HasSubstr("--force")));
    expectRecord({"--force"}, 0, HasSubstr("Recorded 40 steps"));
}

TEST_F(BadInput, TheDataIsNeverTheOutput) {
    for (const std::string& spelling : {path("text.txt"), path("./text.txt")}) {
        expectRecord({"--output", spelling, "--force"}, 2, HasSubstr("is what this command reads"));
        EXPECT_GT(std::filesystem::file_size(path("text.txt")), 100u);
    }
}

TEST_F(BadInput, ACheckpointFolderThatCannotBeWrittenIsSaidBeforeTraining) {
    std::ofstream(path("file")) << "x";
    for (const std::string& folder : {path("file"), path("file/ck"), std::string("/proc/ck")})
        expectRecord({"--checkpoint", folder}, 2,
                     AllOf(HasSubstr(folder), HasSubstr("--checkpoint"),
                           Not(HasSubstr("Training shakespeare"))));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(BadInput, AnOutputThatCannotBeWrittenIsRefusedBeforeTraining) {
    expectRecord({"--output", path("no/such/folder/run.sscope")}, 2,
                 AllOf(HasSubstr("no/such/folder"), Not(HasSubstr("Training shakespeare"))));
}

TEST_F(BadInput, AMissingRunFileIsUnreadableAndABrokenOneIsUsage) {
    expectRecord({path("none.toml")}, 3, HasSubstr("none.toml"));
    std::ofstream(path("run.toml")) << "steps = 3\nlayerz = 2\n";
    expectRecord({path("run.toml")}, 2, HasSubstr("run.toml:2:1: unknown key 'layerz'"));
}

TEST_F(BadInput, WithoutAnEngineTheLaunchFails) {
    environment["SHARDSCOPE_RANK_PROGRAM"] = path("no-rank");
    expectRecord({}, 4, AllOf(HasSubstr("no-rank"), HasSubstr("packaging/fetch-libtorch")));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(BadInput, AnEngineThatCannotRunFailsTheLaunch) {
    std::ofstream(path("no-program")) << "not a program\n";
    std::filesystem::permissions(path("no-program"), std::filesystem::perms::owner_all);
    environment["SHARDSCOPE_RANK_PROGRAM"] = path("no-program");
    expectRecord({}, 4, AllOf(HasSubstr("no-program cannot be started"), HasSubstr("rank 0")));
    EXPECT_EQ(recorded().run.status, RunStatus::kFailed);
}

TEST_F(BadInput, MoreRanksThanCoresIsAWarning) {
    expectRecord({"--ranks", "2", "--threads", "1024", "--steps", "2"}, 0, HasSubstr("share"));
    const RecordingSummary summary = recorded();
    ASSERT_EQ(summary.diagnostics.size(), 1u);
    EXPECT_EQ(summary.diagnostics[0].code, "more-ranks-than-cores");
    EXPECT_EQ(summary.run.status, RunStatus::kFinished);
}

TEST_F(BadInput, ANonFiniteLossIsToldWithRankStepPhaseAndLayer) {
    environment["FAKE_RANK_MODE"] = "nonfinite";
    expectRecord({}, 5,
                 AllOf(HasSubstr("rank 1"), HasSubstr("at step 2 in head of layer 3"),
                       HasSubstr("the loss is nan")));
    const RecordingSummary summary = recorded();
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    ASSERT_FALSE(summary.diagnostics.empty());
    EXPECT_EQ(summary.diagnostics.back().rank, RankId{1});
    EXPECT_THAT(summary.diagnostics.back().message, HasSubstr("step 2"));
    // Fake ranks do not wait for each other: how far the other one has come is not said.
    EXPECT_EQ(std::count_if(summary.steps.begin(), summary.steps.end(),
                            [](const StepFacts& step) { return step.rank == RankId{1}; }),
              2)
        << "its steps before were reported";
}

TEST_F(BadInput, ARankThatDiesIsToldWithItsLastWords) {
    environment["FAKE_RANK_MODE"] = "exit";
    expectRecord({}, 5,
                 AllOf(HasSubstr("rank 1"), HasSubstr("status 7 after step 1"),
                       HasSubstr("the fake rank gives up")));
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    ASSERT_EQ(summary.ranks.size(), 2u);
    EXPECT_EQ(summary.ranks[1].exitCode, 7);
}

TEST_F(BadInput, ARankThatTalksNonsenseFailsInWords) {
    for (const char* mode : {"garbage", "version", "message"}) {
        environment["FAKE_RANK_MODE"] = mode;
        expectRecord({"--force"}, 5, HasSubstr("rank 1"));
        EXPECT_EQ(recorded().run.status, RunStatus::kFailed) << mode;
    }
    environment["FAKE_RANK_MODE"] = "version";
    expectRecord({"--force"}, 5, HasSubstr("protocol version 99"));
}

TEST_F(BadInput, ARankThatEndsSilentlyHasNotFinished) {
    environment["FAKE_RANK_MODE"] = "wordless";
    expectRecord({}, 5, HasSubstr("ended without finishing"));
}

TEST_F(BadInput, ADamagedChunkIsADiagnosticNotTheEnd) {
    environment["FAKE_RANK_MODE"] = "chunk";
    expectRecord({}, 0, HasSubstr("rank 1 sent events that cannot be read"));
    const auto diagnostics = recorded().diagnostics;
    // Before it that two ranks share a core, where they do.
    ASSERT_EQ(diagnostics.size(), launch::usableCores() < 2 ? 2u : 1u);
    EXPECT_EQ(diagnostics.back().code, "chunk-damaged");
}

TEST_F(BadInput, AFullDiskStopsTheRunAndKeepsWhatWasWritten) {
    const std::string disk = path("disk");
    std::filesystem::create_directory(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
        GTEST_SKIP() << "no small file system to fill: this needs root";
    }
    environment["FAKE_RANK_STEP_MS"] = "1";
    const std::string full = disk + "/run.sscope";
    expectRecord({"--output", full, "--steps", "1000000"}, 1,
                 AllOf(HasSubstr("full"), HasSubstr("cannot be written any more")));
    {
        const auto reader = storage::openRecording(full);
        ASSERT_TRUE(reader.has_value()) << reader.error().message;
        const auto summary = (*reader)->summary();
        ASSERT_TRUE(summary.has_value()) << summary.error().message;
        EXPECT_GT(summary->steps.size(), 10u);
        EXPECT_GT(summary->events.total(), 50u);
    }
    ::umount(disk.c_str());
}

}  // namespace
}  // namespace shardscope::cli
