// A stranger on the network who knows the protocol and not the secret: at the place where rank 0's
// task should be, in between, and among the tasks. Over loopback, against real tasks in processes
// of their own.
#include "engine/launch/tasks/task_meeting.h"
#include "engine/launch/tasks/task_member.h"
#include "tests/engine/launch/tasks/loopback.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <random>
#include <vector>

namespace shardscope::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;
constexpr const char* kSecret = "a secret of sixteen letters";

TaskLine nextGuest(const FileDescriptor& listener) {
    return TaskLine(FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
}

/// The next line; empty: the other side has closed.
std::string lineOf(TaskLine& line) {
    for (int turn = 0; turn < 4000 && line.isOpen(); ++turn) {
        if (auto said = line.take()) return *said;
        ::poll(nullptr, 0, 5);
    }
    return {};
}

class TaskAttack : public testing::Test {
protected:
    TaskAttack() {
        std::signal(SIGPIPE, SIG_IGN);
        void* shared = ::mmap(nullptr, sizeof *m_leads, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        m_leads = new (shared) std::atomic<int>(0);
    }
    ~TaskAttack() override {
        if (m_victim > 0) {
            ::kill(m_victim, SIGKILL);
            ::waitpid(m_victim, nullptr, 0);
        }
        ::munmap(m_leads, sizeof *m_leads);
    }

    TaskPlace place(std::int32_t rank) const {
        return {Launcher::kEnvironment, rank, 2, "", "127.0.0.1", m_port, "run 7", kSecret};
    }
    /// A true task. It ends with the status that it is told, or 100.
    void startVictim() {
        m_victim = ::fork();
        if (m_victim != 0) return;
        TaskService service{place(1), "this build", [] { return 0; }, kPatience,
                            [this] {
                                ++*m_leads;  // an agent is about to be started
                                ::_exit(99);
                                return run::TaskTerms{};
                            }};
        const auto status = serveAsTask(service);
        ::_exit(status ? *status : 100);
    }
    int victimsStatus() {
        int status = 0;
        ::waitpid(std::exchange(m_victim, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    /// The true run begins, and its task is there.
    void expectTheTrueTaskGetsIn() {
        auto meeting = TaskMeeting::open(place(0), "this build", "");
        ASSERT_TRUE(meeting.has_value()) << meeting.error().message;
        const auto gathered =
            meeting->gather([] { return true; }, [](const std::string&) {}, kPatience);
        ASSERT_TRUE(gathered.has_value()) << gathered.error().message;
        meeting->end(3);
        EXPECT_EQ(victimsStatus(), 3);
        EXPECT_EQ(*m_leads, 0) << "agents that a stranger had started";
    }

    const std::int32_t m_port = freePort();
    pid_t m_victim = -1;
    std::atomic<int>* m_leads = nullptr;
};

TEST_F(TaskAttack, AStrangerInRankZerosPlaceLeadsNoTask) {
    startVictim();
    {
        const FileDescriptor listener = listenAsStranger(m_port);
        const std::string mac(64, 'a');
        const std::vector<std::vector<std::string>> answers = {
            {"welcome " + mac, "lead 0-1", "end 0"},  // the first version's
            {"challenge " + mac, "welcome " + mac, "lead 0-1", "end 0"},
            {"challenge " + mac, "welcome", "lead 0-1", "end 0"},
            {"challenge " + mac, "refused " + mac + " go away"},
            {"challenge " + mac, "unproved", "lead 0-1", "end 0"},
            {"lead 0-1", "end 0"},
            {"token " + mac},
            {std::string(3 * kLongestTaskLine, 'x')}};
        for (const auto& lines : answers) {
            TaskLine victim = nextGuest(listener);
            const std::string hello = lineOf(victim);
            EXPECT_EQ(hello.find(kSecret), hello.npos);
            for (const std::string& line : lines) victim.send(line);
            while (!lineOf(victim).empty()) {
            }
        }
    }
    expectTheTrueTaskGetsIn();
}

TEST_F(TaskAttack, TasksAreNotTalkedIntoAcceptingEachOther) {
    startVictim();
    {
        const FileDescriptor listener = listenAsStranger(m_port);
        TaskLine victim = nextGuest(listener);
        // What one says goes back to it, in every role that its words may have.
        const std::string hello = lineOf(victim);
        victim.send("challenge " + parseHello(hello).value().nonce);
        const std::string proof = lineOf(victim);
        const auto mac = after(proof, "proof");
        ASSERT_TRUE(mac.has_value()) << proof;
        victim.send(fmt::format("welcome {}", *mac));
        victim.send("lead 0-1");
        EXPECT_EQ(lineOf(victim), "");
    }
    expectTheTrueTaskGetsIn();
}

/// Passes lines on between the victim and rank 0's task until both are welcome, then speaks itself.
TEST_F(TaskAttack, WhoRelaysTheHandshakeCannotSpeakAfterIt) {
    startVictim();
    {
        const FileDescriptor listener = listenAsStranger(m_port);
        TaskPlace elsewhere = place(0);
        elsewhere.port = freePort();
        auto meeting = TaskMeeting::open(elsewhere, "this build", "");
        ASSERT_TRUE(meeting.has_value());
        TaskLine victim = nextGuest(listener);
        TaskLine first(connectToFirst(elsewhere, TaskSecret::of(elsewhere), 5s).value());
        std::string welcome;
        const auto relay = [&] {
            if (const auto said = victim.take()) first.send(*said);
            if (const auto said = first.take()) {
                welcome = *said;
                victim.send(*said);
            }
            return true;
        };
        ASSERT_TRUE(meeting
                        ->gather(
                            relay, [](const std::string&) {}, kPatience)
                        .has_value());
        for (int turn = 0; turn < 2000 && !welcome.starts_with("welcome"); ++turn) {
            relay();
            ::poll(nullptr, 0, 1);
        }
        ASSERT_TRUE(welcome.starts_with("welcome")) << "a longer wire is all that it is";
        victim.send("lead 0-1");
        victim.send("end 0");
        EXPECT_EQ(lineOf(victim), "") << "it closes";
    }
    EXPECT_EQ(victimsStatus(), 100) << "it was met, and is lost";
    EXPECT_EQ(*m_leads, 0);
}

TEST_F(TaskAttack, AmongTheTasksNoStrangerIsAccepted) {
    auto meeting = TaskMeeting::open(place(0), "this build", "");
    ASSERT_TRUE(meeting.has_value());
    const TaskSecret secret = TaskSecret::of(place(1));
    TaskPlace guessed = place(1);
    guessed.secret = "";
    const TaskSecret none = TaskSecret::of(guessed);
    std::mt19937 random(3);  // NOLINT: the same each time
    std::vector<TaskLine> strangers;
    for (int i = 0; i < 200; ++i) {
        TaskLine line(connectToFirst(place(1), secret, 5s).value());
        JoiningHandshake handshake(none, helloOf(place(1), "this build"));
        std::string hello = handshake.hello();
        if (i % 4 == 1) hello.resize(random() % hello.size());
        if (i % 4 == 2) hello[random() % hello.size()] = static_cast<char>(random());
        line.send(hello);
        // Before any challenge, or not at all.
        if (i % 2 == 0) line.send(handshake.prove("challenge " + std::string(64, '0')).value());
        strangers.push_back(std::move(line));
    }
    int turns = 0;
    const auto gathered =
        meeting->gather([&] { return ++turns < 10; }, [](const std::string&) {}, kPatience);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_EQ(gathered.error().code, ErrorCode::kInterrupted);
    for (TaskLine& stranger : strangers) {
        while (const auto said = stranger.take())
            EXPECT_FALSE(said->starts_with("welcome") || said->starts_with("refused")) << *said;
    }
    strangers.clear();
    startVictim();
    ASSERT_TRUE(
        meeting->gather([] { return true; }, [](const std::string&) {}, kPatience).has_value());
    meeting->end(3);
    EXPECT_EQ(victimsStatus(), 3);
}

}  // namespace
}  // namespace shardscope::launch
