// A run that is asked for something from outside: `shardscope control`.
#include "app/cli/record/control_socket.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;

class Control : public CliTest {
protected:
    Control() {
        environment["FAKE_RANK_STEP_MS"] = "5";
        environment["XDG_RUNTIME_DIR"] = path("runtime");
        std::filesystem::create_directories(path("runtime"));
        std::filesystem::permissions(path("runtime"), std::filesystem::perms::owner_all);
    }
    void startRun(const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"--control", "stdio", "--steps", "1000000"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        m_run = startRecord(arguments, true);
        ASSERT_TRUE(eventually([this] { return says("\"event\":\"step\""); })) << m_run->err();
    }
    bool says(const std::string& words) const {
        return m_run->out().find(words) != std::string::npos;
    }
    /// Exit status of `shardscope control`, whose words are in `answer`.
    int control(const std::vector<std::string>& words) {
        std::vector<std::string> arguments = {"control", output()};
        arguments.insert(arguments.end(), words.begin(), words.end());
        const auto program = start(arguments);
        const int status = program->wait();
        answer = program->out() + program->err();
        return status;
    }
    std::vector<std::filesystem::path> sockets() const {
        std::vector<std::filesystem::path> found;
        const std::string folder = path("runtime") + "/shardscope";
        if (std::filesystem::exists(folder))
            for (const auto& each : std::filesystem::directory_iterator(folder))
                found.push_back(each.path());
        return found;
    }

    static constexpr int kStopped = 130;
    std::unique_ptr<Program> m_run;
    std::string answer;
};

TEST_F(Control, StopsARunInOrder) {
    startRun();
    EXPECT_EQ(control({"stop"}), 0);
    EXPECT_THAT(answer, HasSubstr("stopping after this step"));
    EXPECT_EQ(m_run->wait(), kStopped);
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
    EXPECT_TRUE(sockets().empty()) << "the socket file is left";
}

TEST_F(Control, KillsARun) {
    startRun();
    EXPECT_EQ(control({"kill"}), 0);
    EXPECT_EQ(m_run->wait(), 130);
    EXPECT_EQ(recorded().run.status, RunStatus::kKilled);
}

TEST_F(Control, PausesAndResumesWhatIsCaptured) {
    startRun();
    EXPECT_EQ(control({"pause"}), 0);
    EXPECT_THAT(answer, HasSubstr("what is captured changes"));
    EXPECT_EQ(control({"resume"}), 0);
    EXPECT_EQ(control({"level", "light"}), 0);
    EXPECT_EQ(control({"capture", "--steps", "10-20", "--every", "100"}), 0);
    EXPECT_EQ(control({"level", "plenty"}), 2);
    EXPECT_THAT(answer, HasSubstr("plenty"));
    EXPECT_EQ(control({"stop"}), 0);
    EXPECT_EQ(m_run->wait(), kStopped);
}

TEST_F(Control, SaysWhatDoesNotGoTogether) {
    EXPECT_EQ(control({"level"}), 2);
    EXPECT_THAT(answer, HasSubstr("level takes a capture level"));
    EXPECT_EQ(control({"stop", "light"}), 2);
    EXPECT_THAT(answer, HasSubstr("stop takes nothing more"));
    EXPECT_EQ(control({"capture"}), 2);
    EXPECT_THAT(answer, HasSubstr("capture takes --steps"));
    EXPECT_EQ(control({"stop", "--every", "3"}), 2);
    EXPECT_EQ(control({"dance"}), 2);
}

TEST_F(Control, WithoutSuchARunSaysSo) {
    EXPECT_EQ(control({"stop"}), 4);
    EXPECT_THAT(answer, HasSubstr("no run of this user on this machine writes " + output()));
}

TEST_F(Control, AKilledRecorderLeavesNothingThatAnswers) {
    startRun();
    m_run->signal(SIGKILL);
    m_run->wait();
    EXPECT_EQ(sockets().size(), 1u);
    EXPECT_EQ(control({"stop"}), 4);
    std::filesystem::remove(output());
    startRun({"--force"});
    EXPECT_EQ(sockets().size(), 1u);
    EXPECT_EQ(control({"stop"}), 0);
    EXPECT_EQ(m_run->wait(), kStopped);
}

TEST_F(Control, IsNobodyElsesBusiness) {
    startRun();
    ASSERT_EQ(sockets().size(), 1u);
    const auto folder = std::filesystem::status(path("runtime") + "/shardscope").permissions();
    EXPECT_EQ(folder, std::filesystem::perms::owner_all);
    EXPECT_EQ(control({"stop"}), 0);
    EXPECT_EQ(m_run->wait(), kStopped);
}

TEST_F(Control, AFolderThatOthersMayWriteIsNotUsedAndTheRunGoesOn) {
    std::filesystem::create_directories(path("runtime") + "/shardscope");
    std::filesystem::permissions(path("runtime") + "/shardscope", std::filesystem::perms::all);
    startRun();
    EXPECT_TRUE(says("is not this user's alone"));
    EXPECT_EQ(control({"stop"}), 4);
    m_run->closeInput();
    EXPECT_EQ(m_run->wait(), kStopped);
}

/// Says nothing, nonsense, or more than any command, and stays.
TEST_F(Control, GuestsThatMisbehaveKeepNobodyOut) {
    startRun();
    ASSERT_EQ(sockets().size(), 1u);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, sockets()[0].c_str(), sizeof address.sun_path - 1);
    std::vector<FileDescriptor> guests;
    for (int i = 0; i < 40; ++i) {
        guests.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(guests.back().get(), reinterpret_cast<const sockaddr*>(&address),
                            sizeof address),
                  0);
        const std::string words = i % 3 == 0 ? "" : i % 3 == 1 ? "{\n[]\n" : std::string(9000, 'x');
        static_cast<void>(
            ::send(guests.back().get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    EXPECT_EQ(control({"stop"}), 0);
    EXPECT_EQ(m_run->wait(), kStopped);
}

}  // namespace
}  // namespace shardscope::cli
