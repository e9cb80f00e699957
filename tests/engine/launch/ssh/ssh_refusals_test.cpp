// Hosts that cannot be reached: each is one sentence with the host, the cause and what to do.
#include "tests/engine/launch/ssh/ssh_fixture.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
}

TEST_F(SshRefusals, OfAnAccountWithoutAShell) {
    m_server->setLogin("echo 'This account is currently not available.'; exit 1");
    EXPECT_THAT(sentenceFor("node1"), HasSubstr("did not run /bin/sh to its end"));
}

}  // namespace
}  // namespace shardscope::launch
