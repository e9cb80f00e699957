#include "engine/launch/ssh/ssh_words.h"

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/ssh_command.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SshWords, AreKeptApart) {
    // As OpenSSH 9.2 writes them.
    EXPECT_EQ(failureOf("Host key verification failed.\r\n"), SshFailure::kUnknownKey);
    EXPECT_EQ(failureOf("ssh: connect to host a port 22: Connection refused\r\n"),
              SshFailure::kRefused);
    EXPECT_EQ(failureOf("ssh: connect to host a port 22: Connection timed out\r\n"),
              SshFailure::kTimedOut);
    EXPECT_EQ(failureOf("ssh: connect to host a port 22: No route to host\r\n"),
              SshFailure::kTimedOut);
    EXPECT_EQ(failureOf("kex_exchange_identification: Connection closed by remote host\r\n"
                        "Connection closed by 10.0.0.1 port 22\r\n"),
              SshFailure::kDropped);
    EXPECT_EQ(failureOf("kex_exchange_identification: read: Connection reset by peer\r\n"),
              SshFailure::kDropped);
    EXPECT_EQ(failureOf("u@a: Permission denied (publickey,password).\r\n"), SshFailure::kDenied);
    EXPECT_EQ(failureOf("Bad configuration option: proxijump\r\n"), SshFailure::kOther);
}

TEST(SshWords, OfAChangedKeyAreNotTakenForAnUnknownOne) {
    EXPECT_EQ(failureOf("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
                        "Host key verification failed.\r\n"),
              SshFailure::kChangedKey);
}

TEST(SshWords, BecomeASentenceWithTheHostTheCauseAndARemedy) {
    const Error error = connectError({}, {"gpu7", ""},
                                     "ssh: connect to host gpu7 port 22: Connection "
                                     "refused\r\n",
                                     "");
    EXPECT_EQ(error.code, ErrorCode::kLaunch);
    EXPECT_THAT(error.message, AllOf(HasSubstr("gpu7"), HasSubstr("Connection refused"),
                                     HasSubstr("see that its ssh server runs")));
}

TEST(SshWords, OfTheConfigurationAreHandedOn) {
    const Error error = connectError({}, {"gpu7", ""},
                                     "/x/config: line 3: Bad configuration option: foo\r\n"
                                     "/x/config: terminating, 1 bad configuration options",
                                     "");
    EXPECT_THAT(error.message, AllOf(HasSubstr("gpu7"), HasSubstr("terminating, 1 bad")));
    EXPECT_THAT(connectError({}, {"gpu7", ""}, "", "").message, HasSubstr("without a word"));
}

TEST(SshWords, NameTheCommandThatWasCalled) {
    SshOptions options;
    options.command = {"ssh", "-F", "/x/my config"};
    for (const char* words :
         {"", "u@gpu7: Permission denied (publickey).\r\n", "Host key verification failed.\r\n"})
        EXPECT_THAT(connectError(options, {"me@gpu7", ""}, words, "").message,
                    HasSubstr("ssh -F '/x/my config' me@gpu7"));
    EXPECT_EQ(typedCommand(options, {"a b", ""}, "true"), "ssh -F '/x/my config' 'a b' true");
}

TEST(SshWords, TellAnotherKeyThanTheAcceptedOneFromNone) {
    SshOptions options;
    const std::string refused = "Host key verification failed.\r\n";
    const std::string key = "ssh-ed25519 SHA256:there";
    const auto sentence = [&] { return connectError(options, {"gpu7", ""}, refused, key).message; };
    EXPECT_THAT(sentence(), HasSubstr("gpu7 is not known"));
    options.acceptKey = "SHA256:wrong";
    EXPECT_THAT(sentence(), AllOf(HasSubstr("the key of gpu7 is ssh-ed25519 SHA256:there, not the "
                                            "one given by --accept-key (SHA256:wrong)"),
                                  HasSubstr("nothing was sent")));
    options.acceptKey = "SHA256:there";  // and ssh did not ask for it
    EXPECT_THAT(sentence(), HasSubstr("gpu7 is not known"));
}

TEST(SshWords, TellTheLastKeyThatWasShown) {
    EXPECT_EQ(fingerprintIn("debug1: Server host key: ssh-rsa SHA256:jump\r\n"
                            "debug1: Server host key: ssh-ed25519 SHA256:host\r\nmore\n"),
              "ssh-ed25519 SHA256:host");
    EXPECT_EQ(fingerprintIn("debug1: nothing of it\n"), "");
}

std::string randomText(std::mt19937& random) {
    static const std::string letters = "'\"\\!$`~#*?[]{}()<>|&;^%=@ \tab1,:-+/\xc3\xa9";
    std::string text;
    for (auto count = random() % 30; count > 0; --count) text += letters[random() % letters.size()];
    return text;
}

class Quoting : public testing::TestWithParam<const char*> {};

TEST_P(Quoting, BringsAnyWordThroughTheLoginShell) {
    if (findProgram(GetParam()).empty()) GTEST_SKIP() << "there is no " << GetParam();
    std::mt19937 random(11);
    for (int i = 0; i < 60; ++i) {
        const std::string text = randomText(random);
        const auto said =
            outputOf({GetParam(), "-c", throughLoginShell("printf '%s' " + shellWord(text))});
        ASSERT_TRUE(said.has_value()) << said.error().message;
        EXPECT_EQ(*said, text);
    }
}

TEST_P(Quoting, BringsLongLinesThroughTheLoginShell) {
    if (findProgram(GetParam()).empty()) GTEST_SKIP() << "there is no " << GetParam();
    const std::string text(20'000, 'x');
    const auto said =
        outputOf({GetParam(), "-c", throughLoginShell("printf '%s' " + shellWord(text))});
    ASSERT_TRUE(said.has_value()) << said.error().message;
    EXPECT_EQ(*said, text);
}

INSTANTIATE_TEST_SUITE_P(Shells, Quoting,
                         testing::Values("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace shardscope::launch
