#include "engine/launch/agent_file.h"

#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

namespace shardscope::launch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class AgentFileTest : public testing::Test {
protected:
    ~AgentFileTest() override {
        for (const pid_t pid : m_children) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }
    /// A process with a file of its own, which never touches it.
    pid_t agent(std::chrono::seconds lease) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            const auto file = AgentFile::make(m_path, lease);
            std::ofstream(m_path + "/ready-" + std::to_string(::getpid())) << "yes";
            while (file) ::poll(nullptr, 0, 1000);
            ::_exit(1);
        }
        m_children.push_back(pid);
        while (!fs::exists(m_path + "/ready-" + std::to_string(pid))) ::poll(nullptr, 0, 1);
        return pid;
    }
    std::string fileOf(pid_t pid) const { return m_path + "/" + std::to_string(pid) + ".agent"; }
    void age(const std::string& path, std::time_t seconds) const {
        const std::array<timespec, 2> times{timespec{::time(nullptr) - seconds, 0},
                                            timespec{::time(nullptr) - seconds, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0) << path;
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("");

private:
    std::vector<pid_t> m_children;
};

TEST_F(AgentFileTest, OfAnAgentThatHearsOfItsRecorderIsLeftAlone) {
    const pid_t pid = agent(15s);
    age(fileOf(pid), 25);
    EXPECT_THAT(endStaleAgents(m_path), IsEmpty());
    EXPECT_EQ(::kill(pid, 0), 0);
    EXPECT_TRUE(fs::exists(fileOf(pid)));
}

TEST_F(AgentFileTest, AnAgentThatHangsIsEndedEvenIfItIsStopped) {
    const pid_t other = agent(600s);
    const pid_t pid = agent(15s);
    ::kill(pid, SIGSTOP);
    age(fileOf(pid), 60);
    age(fileOf(other), 60);
    EXPECT_THAT(endStaleAgents(m_path), ElementsAre(pid));
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(fs::exists(fileOf(pid)));
    EXPECT_TRUE(fs::exists(fileOf(other))) << "its lease is longer";
}

TEST_F(AgentFileTest, OfAnAgentThatIsGoneIsRemovedAndNobodyKilled) {
    // The number of a process that is no agent.
    const std::string left = fileOf(::getpid());
    std::ofstream(left) << "15\n";
    age(left, 3600);
    EXPECT_THAT(endStaleAgents(m_path), IsEmpty());
    EXPECT_FALSE(fs::exists(left));
    EXPECT_THAT(endStaleAgents(m_folder.file("nowhere")), IsEmpty());
}

TEST_F(AgentFileTest, WithAnotherContentIsGivenADay) {
    const pid_t pid = agent(15s);
    std::ofstream(fileOf(pid)) << "-3 what is this";
    age(fileOf(pid), 100'000);
    EXPECT_THAT(endStaleAgents(m_path), IsEmpty());
    EXPECT_EQ(::kill(pid, 0), 0);
}

TEST_F(AgentFileTest, IsTouchedAndRemovedByItsAgent) {
    const std::string path = fileOf(::getpid());
    {
        auto made = AgentFile::make(m_path, 15s);
        ASSERT_THAT(made, test::IsOk());
        AgentFile file = std::move(*made);
        age(path, 100);
        file.touch();
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_LT(::time(nullptr) - status.st_mtim.tv_sec, 50);
    }
    EXPECT_FALSE(fs::exists(path));
    EXPECT_THAT(AgentFile::make(m_folder.file("nowhere"), 15s),
                test::FailsWith("cannot be written"));
}

TEST(UserFolder, IsOfThisUserAlone) {
    const test::TemporaryFolder folder;
    ::setenv("XDG_RUNTIME_DIR", folder.file("").c_str(), 1);
    const auto made = makeUserFolder("agents");
    ASSERT_THAT(made, test::IsOk());
    EXPECT_EQ(fs::status(*made).permissions(), fs::perms::owner_all);
    fs::permissions(userFolder(), fs::perms::all);
    EXPECT_THAT(makeUserFolder("agents"), test::FailsWith("is not this user's alone"));
    ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace shardscope::launch
