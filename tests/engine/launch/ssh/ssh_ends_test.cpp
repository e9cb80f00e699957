// How it ends: nothing is left behind, here or there, whoever is killed.
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"
#include "tests/engine/launch/ssh/ssh_fixture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SshEnds : public SshTest {
protected:
    void SetUp() override {
        SshTest::SetUp();
        ::setenv("XDG_RUNTIME_DIR", m_runtime.path().c_str(), 1);
    }
    ~SshEnds() override { ::unsetenv("XDG_RUNTIME_DIR"); }

    [[nodiscard]] std::vector<std::string> sockets() const {
        std::vector<std::string> paths;
        for (const auto& each : std::filesystem::recursive_directory_iterator(m_runtime.path()))
            paths.push_back(each.path().string());
        return paths;
    }

    /// Of processes of ours whose words hold `text`: an ssh names its socket or configuration.
    [[nodiscard]] std::vector<pid_t> processesWith(const std::string& text) const {
        std::vector<pid_t> found;
        for (const auto& each : std::filesystem::directory_iterator("/proc")) {
            const std::string name = each.path().filename().string();
            std::ostringstream words;
            words << std::ifstream(each.path() / "cmdline").rdbuf();
            if (words.str().find(text) != std::string::npos && words.str().starts_with("/usr/bin/"))
                found.push_back(std::stoi(name));
        }
        return found;
    }
    [[nodiscard]] pid_t master() const {
        for (const pid_t each : processesWith(m_server->clientConfiguration())) {
            std::ostringstream words;
            words << std::ifstream(fmt::format("/proc/{}/cmdline", each)).rdbuf();
            if (words.str().find("LocalCommand=echo") != std::string::npos) return each;
        }
        return -1;
    }

    test::TemporaryFolder m_runtime;
};

TEST_F(SshEnds, ClosingEndsTheAgentAndLeavesNothingHere) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const auto pid = helloOf(*connection.agent).pid;
    EXPECT_TRUE(isAlive(pid));
    EXPECT_FALSE(sockets().empty());
    EXPECT_FALSE(processesWith(m_server->clientConfiguration()).empty());
    connection.agent.reset();
    EXPECT_TRUE(isGone(pid));
    EXPECT_THAT(sockets(), IsEmpty());
    EXPECT_THAT(processesWith(m_server->clientConfiguration()), IsEmpty());
}

TEST_F(SshEnds, SocketsAreTheUsersOnly) {
    const HostConnection connection = connect();
    for (const std::string& path : sockets()) {
        EXPECT_LT(path.size(), 104u);
        EXPECT_EQ(std::filesystem::status(path).permissions() &
                      (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
                  std::filesystem::perms::none);
    }
}

TEST_F(SshEnds, KillingTheConnectionEndsBothSides) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const auto pid = helloOf(*connection.agent).pid;
    EXPECT_TRUE(isAlive(pid));
    ASSERT_GT(master(), 0);
    ::kill(master(), SIGKILL);
    EXPECT_TRUE(awaitEnd(*connection.agent));
    EXPECT_THAT(connection.agent->endText(), HasSubstr("the connection was lost"));
    EXPECT_TRUE(isGone(pid));
}

TEST_F(SshEnds, AnAgentThatIsKilledIsNoLostConnection) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const auto pid = helloOf(*connection.agent).pid;
    ASSERT_GT(pid, 1);
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    EXPECT_TRUE(awaitEnd(*connection.agent));
    EXPECT_EQ(connection.agent->endText(), "it was killed: its connection lives");
    EXPECT_GT(master(), 0);
}

TEST_F(SshEnds, AnAgentThatIsStoppedIsEndedThere) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const auto pid = helloOf(*connection.agent).pid;
    ASSERT_GT(pid, 1);
    ::kill(static_cast<pid_t>(pid), SIGSTOP);
    EXPECT_TRUE(connection.agent->kill(pid));
    EXPECT_TRUE(isGone(pid));
    auto other = ChildProcess::start({"sh", "-c", "sleep 600; : /shardscope"});
    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(connection.agent->kill(other->pid()));
    EXPECT_FALSE(other->end()) << "it is no program of ours";
}

TEST_F(SshEnds, AServerThatDiesIsAnEndInWords) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    helloOf(*connection.agent);
    m_server->signalAll(SIGKILL);
    EXPECT_TRUE(awaitEnd(*connection.agent));
    EXPECT_THAT(connection.agent->endText(), HasSubstr("the connection was lost"));
}

TEST_F(SshEnds, AServerThatFallsSilentIsAnEndInWords) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const auto pid = helloOf(*connection.agent).pid;
    m_server->signalAll(SIGSTOP);  // as a link that was cut: nothing comes, and nobody says so
    EXPECT_TRUE(awaitEnd(*connection.agent));
    EXPECT_THAT(connection.agent->endText(), HasSubstr("not responding"));
    EXPECT_TRUE(isAlive(pid));
    m_server->signalAll(SIGCONT);
    EXPECT_TRUE(isGone(pid));
}

TEST_F(SshEnds, KillingUsEndsTheAgent) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t us = ::fork();
    if (us == 0) {
        HostConnection connection = connect();
        const std::int64_t pid = connection.agent ? helloOf(*connection.agent).pid : -1;
        if (::write(ends[1], &pid, sizeof pid) == sizeof pid) ::pause();
        ::_exit(1);
    }
    std::int64_t pid = -1;
    ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    EXPECT_TRUE(isAlive(pid));
    ::kill(us, SIGKILL);
    ::waitpid(us, nullptr, 0);
    EXPECT_TRUE(isGone(pid));
    for (const pid_t each : processesWith(m_server->clientConfiguration()))
        EXPECT_TRUE(isGone(each)) << each;
    // The socket is left, until the next connection is made.
    const std::vector<std::string> left = sockets();
    EXPECT_FALSE(left.empty());
    const HostConnection next = connect();
    EXPECT_TRUE(next.agent.has_value());
    for (const std::string& path : left) EXPECT_FALSE(std::filesystem::exists(path)) << path;
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(SshEnds, TwoToTheSameHostDoNotTouchEachOther) {
    HostConnection one = connect();
    HostConnection other = connect();
    ASSERT_TRUE(one.agent && other.agent);
    const auto pidOfOne = helloOf(*one.agent).pid;
    const auto pidOfOther = helloOf(*other.agent).pid;
    one.agent.reset();
    EXPECT_TRUE(isGone(pidOfOne));
    EXPECT_TRUE(isAlive(pidOfOther));
    ask(*other.agent, "exit 4");
    EXPECT_TRUE(awaitEnd(*other.agent));
    EXPECT_EQ(other.agent->endText(), "it ended with status 4");
}

TEST_F(SshEnds, GivingUpEndsThoseThatWereReady) {
    std::size_t ready = 0;
    m_observer.wantsEnd = [&] {
        ready = 0;
        for (std::size_t i = 0; i < 12; ++i) ready += m_observer.saw(i, ConnectState::kReady);
        return ready > 0;
    };
    const auto found = connectHosts(nodes(12), options(), payload(), m_observer);
    EXPECT_GT(ready, 0u);
    for (const HostConnection& each : found) EXPECT_FALSE(each.agent.has_value());
    EXPECT_THAT(sockets(), IsEmpty());
    EXPECT_THAT(processesWith(m_server->clientConfiguration()), IsEmpty());
}

/// Takes `text` in as it would come through a pipe; how much of it was read.
std::size_t readUntilFound(Token& token, const std::string& text) {
    std::size_t at = 0;
    while (token.wanted() > 0 && at < text.size()) {
        const std::string piece = text.substr(at, token.wanted());
        token.take(piece);
        at += piece.size();
    }
    return at;
}

TEST(Token, IsFoundWithoutReadingPastIt) {
    for (const std::string noise : {"", "hello\n", "aba", "aabaab", "abab\n", "aabaa"}) {
        Token token("aabaabb");
        const std::string text = noise + "aabaabb\n";
        EXPECT_EQ(readUntilFound(token, text + "frames"), text.size()) << noise;
        EXPECT_EQ(token.wanted(), 0u) << noise;
        EXPECT_EQ(token.noiseBytes(), noise.size());
    }
}

TEST(Token, IsFoundInAnyNoise) {
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        std::string noise;
        for (auto count = random() % 40; count > 0; --count) noise += "ab\n"[random() % 3];
        Token token("abaab");
        const std::string text = noise + "abaab\n";
        const auto first = text.find("abaab\n") + 6;
        ASSERT_EQ(readUntilFound(token, text + "abaab\n"), first) << noise;
    }
}

TEST(Token, IsPrintedByAShellWhoseLineDoesNotHoldIt) {
    Token token;
    const std::string line = token.printing();
    const auto printed = outputOf({"/bin/sh", "-c", line});
    ASSERT_TRUE(printed.has_value());
    EXPECT_EQ(printed->size(), 33u);
    EXPECT_EQ(line.find(printed->substr(0, 32)), std::string::npos);
    EXPECT_EQ(readUntilFound(token, *printed), printed->size());
    EXPECT_EQ(token.wanted(), 0u);
}

TEST(Token, IsAnotherOneEachTime) {
    EXPECT_NE(Token().printing(), Token().printing());
}

}  // namespace
}  // namespace shardscope::launch
