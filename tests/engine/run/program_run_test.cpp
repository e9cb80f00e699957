#include "engine/run/config/program_run.h"

#include "engine/run/config/run_config.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

using Words = std::vector<std::string>;

TEST(ProgramRun, ComesBackFromTheRecordingsJson) {
    const ProgramRun program{{"python", "a b.py"}, "/work", CaptureLevel::kLight};
    const auto back = parseProgramJson(toJson(program));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->command, program.command);
    EXPECT_EQ(back->folder, "/work");
    EXPECT_EQ(back->capture, CaptureLevel::kLight);
}

TEST(ProgramRun, OtherRecordingsAreNone) {
    EXPECT_FALSE(parseProgramJson(toJson(RunConfig())));
    for (const char* text : {"", "{}", "[]", "null", R"({"program":1})", R"({"program":{}})",
                             R"({"program":{"command":[1]}})", R"({"program":{"command":"a"}})"})
        EXPECT_FALSE(parseProgramJson(text)) << text;
}

TEST(ProgramRun, WhatIsMissingStaysUnknown) {
    const auto program = parseProgramJson(R"({"program":{"command":["a"],"capture":"tomorrow"}})");
    ASSERT_TRUE(program);
    EXPECT_EQ(program->folder, "");
    EXPECT_EQ(program->capture, CaptureLevel::kFull);
}

TEST(ProgramRun, IsCalledByItsScript) {
    EXPECT_EQ(programTitle({"python3", "-u", "/a/train.py", "--x"}), "train.py");
    EXPECT_EQ(programTitle({"/v/bin/torchrun", "--nproc-per-node", "2", "b/train.py"}),
              "torchrun train.py");
    EXPECT_EQ(programTitle({"python", "-m", "torchtitan.train"}), "torchtitan.train");
    EXPECT_EQ(programTitle({"bash", "job.sh"}), "job.sh");
    EXPECT_EQ(programTitle({"./a.out", "--steps", "4"}), "a.out");
    EXPECT_EQ(programTitle(Words{}), "");
    EXPECT_EQ(commandText({"python", "a b.py"}), "python 'a b.py'");
}

}  // namespace
}  // namespace shardscope::run
