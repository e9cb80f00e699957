#include "engine/launch/ssh/connect_hosts.h"

#include "engine/launch/ssh/host_checks.h"
#include "engine/launch/ssh/ssh_command.h"
#include "tests/engine/launch/ssh/ssh_fixture.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;

class ConnectHosts : public SshTest {};

TEST_F(ConnectHosts, StartAnAgentAndHandBackItsStreams) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    const run::AgentHello hello = helloOf(*connection.agent);
    EXPECT_EQ(hello.product, "fake agent");
    EXPECT_TRUE(isAlive(hello.pid));
    ask(*connection.agent, "say to standard error");
    std::string words;
    while (words.find('\n') == std::string::npos)
        readAvailable(connection.agent->errors(), words, 100);
    EXPECT_EQ(words, "to standard error\n");
    ask(*connection.agent, "exit 7");
    EXPECT_FALSE(pumpUntil(*connection.agent, [](const run::Frame&) { return false; }));
    EXPECT_EQ(connection.agent->endText(), "it ended with status 7");
}

TEST_F(ConnectHosts, TellWhatTheyHaveFound) {
    const HostConnection connection = connect();
    EXPECT_EQ(connection.look.system, ownSystem());
    EXPECT_EQ(connection.look.folder, folder());
    EXPECT_EQ(connection.look.reachedAt, "127.0.0.1");
    EXPECT_FALSE(connection.look.noisy);
    for (const auto state : {ConnectState::kConnecting, ConnectState::kLooking,
                             ConnectState::kSending, ConnectState::kStarting, ConnectState::kReady})
        EXPECT_TRUE(m_observer.saw(0, state)) << static_cast<int>(state);
}

TEST_F(ConnectHosts, OnlyLook) {
    const auto found = lookAtHosts(nodes(2), options(), payload(), m_observer);
    ASSERT_EQ(found.size(), 2u);
    for (const HostConnection& each : found) {
        EXPECT_FALSE(each.failure.has_value());
        EXPECT_FALSE(each.agent.has_value());
        EXPECT_GE(each.look.cores, 1);
    }
    EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(ConnectHosts, PutThingsIntoTheCacheFolderThere) {
    const auto found = connectHosts({{"node1", ""}}, options(), payload(), m_observer);
    ASSERT_TRUE(found.front().agent.has_value()) << found.front().failure->message;
    EXPECT_TRUE(std::filesystem::exists(m_server->home() + "/.cache/shardscope"));
}

class LoginShells : public SshTest, public testing::WithParamInterface<const char*> {};

TEST_P(LoginShells, ThatPrintAreNoHindrance) {
    if (findProgram(GetParam()).empty()) GTEST_SKIP() << "there is no " << GetParam();
    const std::string noise = "echo noise; echo more noise; echo and on stderr >/dev/stderr\n";
    std::filesystem::create_directories(m_server->home() + "/.config/fish");
    std::ofstream(m_server->home() + "/.config/fish/config.fish") << noise;
    std::ofstream(m_server->home() + "/.tcshrc") << noise;
    std::ofstream(m_server->home() + "/.noisy") << noise;
    m_server->setLogin(
        fmt::format("BASH_ENV=$HOME/.noisy; export BASH_ENV; printf 'no line end'; "
                    "exec {} -c \"$SSH_ORIGINAL_COMMAND\"",
                    GetParam()));
    auto found = connectHosts({{"node1", folder() + "/it's a \\ folder!"}}, options(), payload(),
                              m_observer);
    ASSERT_TRUE(found.front().agent.has_value()) << found.front().failure->message;
    EXPECT_TRUE(found.front().look.noisy);
    EXPECT_GT(helloOf(*found.front().agent).pid, 0);
}

INSTANTIATE_TEST_SUITE_P(Shells, LoginShells,
                         testing::Values("sh", "bash", "zsh", "csh", "tcsh", "fish"),
                         [](const auto& each) { return std::string(each.param); });

TEST_F(ConnectHosts, SixteenAgainstAServerWithStockLimits) {
    restart("MaxSessions 10\nMaxStartups 10:30:100\n");
    auto found = connectHosts(nodes(16), options(), payload(), m_observer);
    std::set<std::int64_t> pids;
    for (HostConnection& each : found) {
        ASSERT_TRUE(each.agent.has_value()) << each.failure->message;
        pids.insert(helloOf(*each.agent).pid);
    }
    EXPECT_EQ(pids.size(), 16u);
}

TEST_F(ConnectHosts, AServerThatDropsLoginsIsTriedAgain) {
    // With three logins going on, every second more is dropped.
    restart("MaxStartups 3:50:20\n");
    auto found = connectHosts(nodes(16), options(), payload(), m_observer);
    for (HostConnection& each : found) EXPECT_TRUE(each.agent.has_value()) << each.failure->message;
}

TEST_F(ConnectHosts, OneSessionIsEnough) {
    restart("MaxSessions 1\n");
    const HostConnection connection = connect();
    EXPECT_TRUE(connection.agent.has_value()) << connection.failure->message;
}

TEST_F(ConnectHosts, AConfigurationThatRunsAndForwardsThingsIsNoHindrance) {
    std::ofstream(m_server->clientConfiguration(), std::ios::app)
        << "Host *\n  RemoteCommand echo busy\n  RequestTTY force\n  ForwardAgent yes\n"
           "  LocalForward 127.0.0.1:1 127.0.0.1:1\n  ControlMaster auto\n"
           "  ControlPath "
        << m_server->file("theirs") << "\n  ControlPersist yes\n";
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    EXPECT_GT(helloOf(*connection.agent).pid, 0);
    EXPECT_FALSE(std::filesystem::exists(m_server->file("theirs")));
}

/// What ssh asks goes to a program of the test's, which answers with these lines in turn.
class Askpass : public SshTest {
protected:
    void answerWith(const std::string& script) {
        const std::string path = m_files.file("askpass");
        std::ofstream(path) << "#!/bin/sh\nprintf '%s\\n' \"$1\" >>" << m_files.file("questions")
                            << "\n"
                            << script << "\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        ::setenv("SSH_ASKPASS", path.c_str(), 1);
    }
    ~Askpass() override { ::unsetenv("SSH_ASKPASS"); }

    std::vector<HostConnection> connectTo(const std::string& target, AskPolicy ask) {
        SshOptions asking = options();
        asking.ask = ask;
        return connectHosts({{target, folder()}}, asking, payload(), m_observer);
    }
    [[nodiscard]] std::string questions() const {
        std::ostringstream text;
        text << std::ifstream(m_files.file("questions")).rdbuf();
        return text.str();
    }
};

TEST_F(Askpass, IsAskedForAPassphrase) {
    ASSERT_TRUE(outputOf({"ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f",
                          m_server->file("user_key")}));
    answerWith("echo 'open sesame'");
    EXPECT_TRUE(connectTo("node1", AskPolicy::kNever).front().failure.has_value());
    EXPECT_EQ(questions(), "");
    const auto found = connectTo("node1", AskPolicy::kAskpass);
    EXPECT_TRUE(found.front().agent.has_value()) << found.front().failure->message;
    EXPECT_THAT(questions(), HasSubstr("passphrase"));
}

TEST_F(Askpass, IsAskedWhetherToTrustAKey) {
    answerWith("echo no");
    EXPECT_TRUE(connectTo("unknown", AskPolicy::kAskpass).front().failure.has_value());
    EXPECT_THAT(questions(), HasSubstr(m_server->fingerprint()));
    answerWith("echo yes");
    const auto found = connectTo("unknown", AskPolicy::kAskpass);
    EXPECT_TRUE(found.front().agent.has_value()) << found.front().failure->message;
    // Kept by ssh in the file that the user's configuration names, and not asked again.
    EXPECT_TRUE(connectTo("unknown", AskPolicy::kNever).front().agent.has_value());
}

TEST_F(ConnectHosts, FramesArriveWholeHoweverManyThereAre) {
    HostConnection connection = connect();
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    ask(*connection.agent, "send 64");
    std::size_t bytes = 0;
    EXPECT_TRUE(pumpUntil(*connection.agent, [&](const run::Frame& frame) {
        if (frame.type == run::FrameType::kChunk) bytes += frame.payload.size();
        return bytes == 64u << 20;
    })) << bytes;
}

constexpr const char* kKey = "SHA256:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG";

TEST(KeyAnswer, IsTheFingerprintOfThatKeyAlone) {
    const std::string question =
        "The authenticity of host 'a (10.0.0.1)' can't be established.\nED25519 key fingerprint "
        "is " +
        std::string(kKey) +
        ".\nThis key is not known by any other names.\nAre you sure you want to continue "
        "connecting "
        "(yes/no/[fingerprint])? ";
    EXPECT_EQ(answerTo(question, kKey), kKey);
    EXPECT_EQ(answerTo(question, "SHA256:another"), "no");
    EXPECT_EQ(answerTo(question, ""), "no");
    EXPECT_EQ(answerTo("Please type 'yes', 'no' or the fingerprint: ", kKey), "no");
}

TEST(KeyAnswer, ToAnythingElseIsNone) {
    EXPECT_EQ(answerTo("me@node's password: ", kKey), "");
    EXPECT_EQ(answerTo("Enter passphrase for key '/home/me/" + std::string(kKey) + "': ", kKey),
              "");
    EXPECT_EQ(answerTo("", kKey), "");
}

// Hosts that cannot be reached: each is one sentence with the host, the cause and what to do.

using testing::AllOf;

class SshRefusals : public SshTest {
protected:
    /// One with a code for the exit status; its sentence.
    std::string sentenceFor(const std::string& target) {
        const auto found = failureAt(target);
        EXPECT_TRUE(found.has_value()) << target;
        if (!found) return "";
        EXPECT_EQ(found->code, ErrorCode::kLaunch);
        EXPECT_EQ(found->message.find('\n'), std::string::npos) << found->message;
        return found->message;
    }
};

TEST_F(SshRefusals, OfAnUnknownKeyShowItsFingerprint) {
    EXPECT_THAT(sentenceFor("unknown"),
                AllOf(HasSubstr("unknown is not known"), HasSubstr(m_server->fingerprint()),
                      HasSubstr("connect once by hand: ssh -F " + m_server->clientConfiguration() +
                                " unknown")));
    EXPECT_FALSE(std::filesystem::exists(m_server->file("known_none")));
}

TEST_F(SshRefusals, OfAChangedKeyAreSshsOwnWords) {
    EXPECT_THAT(sentenceFor("changed"),
                AllOf(HasSubstr("the key of changed is not the one"),
                      HasSubstr("REMOTE HOST IDENTIFICATION HAS CHANGED"),
                      HasSubstr(m_server->fingerprint()), HasSubstr("known_other:1")));
}

TEST_F(SshRefusals, OfAWrongKeyAskNoPassword) {
    EXPECT_THAT(sentenceFor("wrong"),
                AllOf(HasSubstr("wrong does not let this user in"), HasSubstr("Permission denied"),
                      HasSubstr(" wrong` works")));
}

TEST_F(SshRefusals, OfAPortWhereNobodyListens) {
    std::ofstream(m_server->clientConfiguration(), std::ios::app)
        << "Host nobody\n  HostName 127.0.0.1\n  Port 1\n";
    EXPECT_THAT(sentenceFor("nobody"), AllOf(HasSubstr("nobody refuses ssh connections"),
                                             HasSubstr("Connection refused")));
}

TEST_F(SshRefusals, OfANameThatDoesNotExist) {
    EXPECT_THAT(sentenceFor("nothing.invalid"), AllOf(HasSubstr("there is no host nothing.invalid"),
                                                      HasSubstr("correct the name")));
}

TEST_F(SshRefusals, OfAServerThatHangsUpComeAfterSeveralTries) {
    restart("MaxStartups 1:100:1\nLoginGraceTime 60\n");
    // One that logs in for ever takes the only place.
    auto holder = ChildProcess::start(
        {"/bin/bash", "-c",
         fmt::format("until exec 3<>/dev/tcp/127.0.0.1/{} && read -r line <&3 && "
                     "[[ $line == SSH* ]]; do sleep 0.1; done; echo got; sleep 600",
                     m_server->port())});
    ASSERT_TRUE(holder.has_value());
    std::string got;
    while (got.empty() && holder->output.valid()) readAvailable(holder->output, got, 10);
    ASSERT_EQ(got, "got\n");
    EXPECT_THAT(sentenceFor("node1"), HasSubstr("hung up on every try"));
    EXPECT_TRUE(m_observer.saw(0, ConnectState::kWaiting));
}

TEST_F(SshRefusals, OfNoSshHere) {
    SshOptions others = options();
    others.command = {"no-such-ssh"};
    const auto found = connectHosts(nodes(1), others, payload(), m_observer);
    ASSERT_TRUE(found.front().failure.has_value());
    EXPECT_THAT(found.front().failure->message,
                AllOf(HasSubstr("openssh-client"), HasSubstr("no-such-ssh")));
}

TEST_F(SshRefusals, OfOneHostLeaveTheOthersAlone) {
    auto found = connectHosts({{"node1", folder()}, {"wrong", folder()}, {"node2", folder()}},
                              options(), payload(), m_observer);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(found[0].agent.has_value());
    EXPECT_TRUE(found[1].failure.has_value());
    EXPECT_TRUE(found[2].agent.has_value());
}

TEST_F(SshRefusals, OfALoginShellThatPrintsWithoutEnd) {
    m_server->setLogin("exec yes");
    EXPECT_THAT(sentenceFor("node1"), HasSubstr("prints without end"));
}

TEST_F(SshRefusals, OfALoginShellThatSaysNothing) {
    m_server->setLogin("exec sleep 600");
    SshOptions hasty = options();
    hasty.answerLimit = std::chrono::seconds(1);
    const auto found = connectHosts(nodes(1), hasty, payload(), m_observer);
    ASSERT_TRUE(found.front().failure.has_value());
    EXPECT_THAT(
        found.front().failure->message,
        AllOf(HasSubstr("nothing came from node1 for 1 s"),
              HasSubstr("something: ssh -F " + m_server->clientConfiguration() + " node1 true")));
    bool said = false;
    for (const auto& note : m_observer.notes)
        said = said || note.progress.detail ==
                           "nothing has come for 0.5 s: its login shell, or a disk there, is "
                           "waited for, 1 s at most";
    EXPECT_TRUE(said) << "what is waited for, before the end";
}

TEST_F(SshRefusals, OfAnAccountWithoutAShell) {
    m_server->setLogin("echo 'This account is currently not available.'; exit 1");
    EXPECT_THAT(sentenceFor("node1"), HasSubstr("did not run /bin/sh to its end"));
}

}  // namespace
}  // namespace shardscope::launch
