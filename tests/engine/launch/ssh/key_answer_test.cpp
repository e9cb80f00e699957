#include "engine/launch/ssh/ssh_command.h"

#include <gtest/gtest.h>

namespace shardscope::launch {
namespace {

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

}  // namespace
}  // namespace shardscope::launch
