#include "engine/launch/tasks/task_secret.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace shardscope::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TaskPlace placeAt(const std::string& address, Launcher launcher = Launcher::kTorchrun) {
    return {launcher, 3, 4, "", address, 29500, "run 7", ""};
}

class TokenFile : public testing::Test {
protected:
    TokenFile() { fs::create_directories(m_folder); }
    ~TokenFile() override { fs::remove_all(m_folder); }
    std::string file(const std::string& text, mode_t mode = 0600) const {
        const std::string path = m_folder / "token";
        std::ofstream(path) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    static std::string complaint(const std::string& path) {
        const auto token = readTokenFile(path);
        EXPECT_FALSE(token.has_value());
        EXPECT_EQ(token.error().code, ErrorCode::kUnreadable);
        return token.error().message;
    }
    const fs::path m_folder =
        fs::temp_directory_path() / ("shardscope-token-" + std::to_string(::getpid()));
};

TEST_F(TokenFile, ItsFirstLineIsTheToken) {
    EXPECT_EQ(readTokenFile(file("abc\nmore")).value(), "abc");
    EXPECT_EQ(readTokenFile(file("abc\r\n")).value(), "abc");
    EXPECT_EQ(readTokenFile(file("abc", 0400)).value(), "abc");
}

TEST_F(TokenFile, ThatOthersCanReadIsRefused) {
    for (const mode_t mode : {0644, 0640, 0604, 0622})
        EXPECT_THAT(complaint(file("abc", mode)), HasSubstr("chmod 600 ")) << mode;
}

TEST_F(TokenFile, WithoutATokenIsRefused) {
    EXPECT_THAT(complaint(file("")), HasSubstr("has no token"));
    EXPECT_THAT(complaint(file("\nabc")), HasSubstr("has no token"));
    EXPECT_THAT(complaint(file(std::string(5000, 'x'))), HasSubstr("has no token"));
    EXPECT_THAT(complaint(m_folder / "none"), HasSubstr("No such file"));
    EXPECT_THAT(complaint(m_folder), HasSubstr("is not a regular file"));
}

TEST_F(TokenFile, ThatIsAFifoIsNotWaitedFor) {
    const std::string path = m_folder / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(complaint(path), HasSubstr("is not a regular file"));
}

TEST_F(TokenFile, GoesBeforeTheVariable) {
    TaskPlace place = placeAt("node-a");
    place.secret = "of the variable";
    ASSERT_TRUE(settleSecret(place, {file("of the file"), false}).has_value());
    EXPECT_EQ(place.secret, "of the file");
}

TEST(TaskSecret, WithoutOneTasksOfSeveralHostsAreRefused) {
    TaskPlace place = placeAt("node-a");
    const auto settled = settleSecret(place, {});
    ASSERT_FALSE(settled.has_value());
    EXPECT_EQ(settled.error().code, ErrorCode::kUsage);
    EXPECT_THAT(settled.error().message,
                AllOf(HasSubstr("SHARDSCOPE_TASK_TOKEN"), HasSubstr("--rdzv-id"),
                      HasSubstr("--task-token-file FILE"), HasSubstr("--trust-network")));
}

TEST(TaskSecret, EachLaunchersOwnWayIsShown) {
    const auto said = [](Launcher launcher) {
        TaskPlace place = placeAt("node-a", launcher);
        return settleSecret(place, {}).error().message;
    };
    EXPECT_THAT(said(Launcher::kMpirun), HasSubstr("-x SHARDSCOPE_TASK_TOKEN"));
    EXPECT_THAT(said(Launcher::kSlurm), HasSubstr("before srun"));
    EXPECT_THAT(said(Launcher::kEnvironment), HasSubstr("secretKeyRef"));
}

TEST(TaskSecret, WhoTrustsTheNetworkNeedsNone) {
    TaskPlace place = placeAt("node-a");
    ASSERT_TRUE(settleSecret(place, {"", true}).has_value());
    EXPECT_EQ(place.address, "node-a");
    EXPECT_EQ(place.secret, "");
}

TEST(TaskSecret, TasksThatLookAtThisHostMeetWithinItUnlessTheyHaveASecret) {
    for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
        TaskPlace place = placeAt(address);
        ASSERT_TRUE(settleSecret(place, {}).has_value()) << address;
        EXPECT_TRUE(place.onOneHost());
        place = placeAt(address);
        place.secret = "a secret of sixteen letters";
        ASSERT_TRUE(settleSecret(place, {}).has_value());
        EXPECT_FALSE(place.onOneHost()) << "an operator may call rank 0's host so";
    }
}

TEST(TaskSecret, KeysAreOfTheSecretAndTheRun) {
    TaskPlace one = placeAt("node-a"), two = one, three = one;
    one.secret = two.secret = "a secret";
    two.identity = "run 8";
    const TaskSecret a = TaskSecret::of(one), b = TaskSecret::of(two), c = TaskSecret::of(three);
    EXPECT_EQ(a.key, TaskSecret::of(one).key);
    EXPECT_NE(a.key, b.key);
    EXPECT_NE(a.key, c.key);
    EXPECT_EQ(a.run, c.run) << "whose tasks are told that their secret is another";
    EXPECT_NE(a.run, b.run);
    EXPECT_EQ(a.place, c.place);
    EXPECT_NE(a.place, b.place);
}

}  // namespace
}  // namespace shardscope::launch
