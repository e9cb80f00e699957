// What /proc and traces tell, of processes and files that are there.
#include "engine/launch/kineto/process_eyes.h"

#include "engine/launch/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shardscope::launch::kineto {
namespace {

using testing::Contains;

class EyesTest : public testing::Test {
protected:
    EyesTest() : m_folder("/tmp/kineto-eyes-XXXXXX") { ::mkdtemp(m_folder.data()); }
    ~EyesTest() override { std::filesystem::remove_all(m_folder); }
    [[nodiscard]] std::string write(const std::string& text) const {
        const std::string path = m_folder + "/trace.json";
        std::ofstream(path) << text;
        return path;
    }
    std::string m_folder;
    ProcessEyes m_eyes;
};

TEST_F(EyesTest, AProcessSaysWhichRankItIs) {
    SpawnRequest request;
    request.program = "/bin/cat";
    request.environment = {{"RANK", "3"},
                           {"SLURM_PROCID", "9"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"WORLD_SIZE", "8"},
                           {"KINETO_USE_DAEMON", "0"},
                           {"KINETO_IPC_SOCKET_DIR", "/d"},
                           {"KINETO_ONDEMAND_TRACE_DIR", "/t"}};
    int input[2];
    ASSERT_EQ(::pipe2(input, O_CLOEXEC), 0);
    request.descriptors = {{input[0], 0}};
    const auto child = spawn(request);
    ASSERT_TRUE(child);
    const ProcessLook look = m_eyes.look(*child);
    EXPECT_NE(look.startTicks, 0u);
    EXPECT_TRUE(look.readable);
    EXPECT_EQ(look.rank, (RankWord{"RANK", 3}));
    EXPECT_EQ(look.localRank, 1);
    EXPECT_EQ(look.localRanks, 2);
    EXPECT_EQ(look.ranks, 8);
    EXPECT_TRUE(look.wantsDaemon);
    EXPECT_EQ(look.socketFolder, "/d");
    EXPECT_EQ(look.traceFolder, "/t");
    ASSERT_FALSE(look.ancestors.empty());
    EXPECT_EQ(look.ancestors.front(), ::getpid());
    EXPECT_THAT(m_eyes.descendants(::getpid()), Contains(*child));
    EXPECT_FALSE(m_eyes.hasTorch(*child));
    EXPECT_TRUE(m_eyes.isAlive(*child, look.startTicks));
    EXPECT_FALSE(m_eyes.isAlive(*child, look.startTicks + 1));
    ::close(input[1]);
    ::close(input[0]);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(*child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(m_eyes.isAlive(*child, look.startTicks));  // a zombie is no process
    ::waitpid(*child, nullptr, 0);
    EXPECT_EQ(m_eyes.look(*child).startTicks, 0u);
}

TEST_F(EyesTest, ATraceIsWholeOnceItIsClosed) {
    EXPECT_FALSE(m_eyes.trace(m_folder + "/none").exists);
    const auto part = m_eyes.trace(write(R"({"traceEvents":[{"cat": "cpu_op")"));
    EXPECT_TRUE(part.exists);
    EXPECT_FALSE(part.whole);
    const auto whole = m_eyes.trace(write(R"({"traceEvents":[{"cat": "Trace"}]}
)"));
    EXPECT_TRUE(whole.whole);
    EXPECT_FALSE(whole.hasWork);
}

TEST_F(EyesTest, StepsAreCountedAcrossWindows) {
    std::string text = R"({"traceEvents":[{"cat": "cpu_op"},)";
    for (int step = 0; step < 40; ++step) {
        text += R"({"cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 1,
    "ts": )" + std::to_string(1000 + step * 10) +
                ".500, \"dur\": 2},";
        text += "{\"name\": \"" + std::string(100'003, 'x') + "\"},";
    }
    const auto look = m_eyes.trace(write(text + "{}]}"));
    EXPECT_TRUE(look.hasWork);
    EXPECT_EQ(look.steps, 40);
    EXPECT_EQ(look.firstStepNs, 1'000'500);
    EXPECT_EQ(look.lastStepNs, 1'390'500);
}

TEST_F(EyesTest, WhatIsNoFileIsNoTrace) {
    const std::string path = m_folder + "/pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(m_eyes.trace(path).exists);
    std::filesystem::create_symlink(write("{}"), m_folder + "/link");
    EXPECT_FALSE(m_eyes.trace(m_folder + "/link").exists);
    EXPECT_FALSE(m_eyes.trace(m_folder).exists);
}

}  // namespace
}  // namespace shardscope::launch::kineto
