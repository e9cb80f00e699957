// Rank 0's task and the others, over loopback and over a local socket. Tasks are processes of their
// own where they serve, and sockets of this one where they misbehave.
#include "engine/launch/tasks/task_meeting.h"

#include "engine/launch/tasks/task_member.h"
#include "engine/network/network_interface.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr auto kPatience = 30s;

/// Nobody's at this moment.
std::int32_t freePort() {
    const auto listener = network::listenOn("127.0.0.1").value();
    ::close(listener.fd);
    return listener.port;
}

class TaskMeetingTest : public testing::Test {
protected:
    TaskMeetingTest() { std::signal(SIGPIPE, SIG_IGN); }
    ~TaskMeetingTest() override {
        for (const pid_t pid : m_tasks) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }

    TaskPlace place(std::int32_t rank, std::int32_t size, const std::string& node = "") const {
        return {Launcher::kTorchrun, rank, size, node, "127.0.0.1", m_port, "run 7", ""};
    }
    static TaskMeeting open(const TaskPlace& place) {
        auto meeting = TaskMeeting::open(place, "this build", "");
        EXPECT_TRUE(meeting.has_value()) << meeting.error().message;
        return std::move(*meeting);
    }
    /// Ends with the status it is told; 100 when it fails.
    pid_t startTask(const TaskPlace& place, const std::string& product = "this build") {
        const pid_t pid = ::fork();
        if (pid == 0) {
            const auto status =
                serveAsTask({place, product, [] { return 0; }, std::chrono::minutes(30)});
            ::_exit(status ? *status : 100);
        }
        m_tasks.push_back(pid);
        return pid;
    }
    int statusOf(pid_t pid) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        std::erase(m_tasks, pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    /// What rank 0's says until it has no patience any more.
    static std::vector<std::string> saidWhileWaiting(TaskMeeting& meeting) {
        std::vector<std::string> said;
        const auto say = [&](const std::string& text) { said.push_back(text); };
        EXPECT_FALSE(meeting.gather([] { return true; }, say, 1s).has_value());
        return said;
    }
    static Result<void> gather(TaskMeeting& meeting,
                               std::chrono::milliseconds patience = kPatience) {
        return meeting.gather([] { return true; }, [](const std::string&) {}, patience);
    }
    /// A connection of a task that does what a test says.
    TaskLine say(const TaskPlace& place, const std::string& line) {
        const TaskSecret secret = TaskSecret::of(place.identity).value();
        TaskLine made(connectToFirst(place, secret, 5s).value());
        made.send(line);
        return made;
    }
    static std::string hello(const TaskPlace& place, const std::string& product = "this build") {
        return helloLine(TaskSecret::of(place.identity).value(), helloOf(place, product));
    }
    static std::string heard(TaskLine& line) {
        for (int turn = 0; turn < 3000 && line.isOpen(); ++turn) {
            if (auto said = line.take()) return *said;
            ::poll(nullptr, 0, 5);
        }
        return "nothing";
    }

    const std::int32_t m_port = freePort();
    std::vector<pid_t> m_tasks;
};

TEST_F(TaskMeetingTest, AllTasksAreMetAndEndWithTheRunsStatus) {
    TaskMeeting meeting = open(place(0, 4, "group 0"));
    const std::vector<pid_t> tasks = {startTask(place(3, 4, "group 1")),
                                      startTask(place(1, 4, "group 0")),
                                      startTask(place(2, 4, "group 1"))};
    const auto gathered = gather(meeting);
    ASSERT_TRUE(gathered.has_value()) << gathered.error().message;
    ASSERT_EQ(meeting.hosts().size(), 2u);
    EXPECT_EQ(meeting.hosts()[0].tasks, 2);
    EXPECT_EQ(meeting.hosts()[1].tasks, 2);
    EXPECT_EQ(meeting.hosts()[1].name, meeting.hosts()[0].name + "-2") << "one machine, two groups";
    EXPECT_EQ(meeting.hosts()[1].processors, ownProcessors());
    meeting.end(5);
    for (const pid_t pid : tasks) EXPECT_EQ(statusOf(pid), 5);
}

TEST_F(TaskMeetingTest, OnOneHostNothingListensOnANetwork) {
    TaskPlace first = place(0, 2);
    first.address.clear();
    first.identity += std::to_string(m_port);
    TaskMeeting meeting = open(first);
    TaskPlace second = first;
    second.rank = 1;
    const pid_t task = startTask(second);
    ASSERT_TRUE(gather(meeting).has_value());
    EXPECT_EQ(meeting.hosts().size(), 1u);
    EXPECT_EQ(meeting.hosts()[0].tasks, 2);
    EXPECT_EQ(meeting.address(), "");
    meeting.end(0);
    EXPECT_EQ(statusOf(task), 0);
}

TEST_F(TaskMeetingTest, ATaskThatComesFirstWaits) {
    const pid_t task = startTask(place(1, 2));
    ::poll(nullptr, 0, 300);
    TaskMeeting meeting = open(place(0, 2));
    ASSERT_TRUE(gather(meeting).has_value());
    meeting.end(0);
    EXPECT_EQ(statusOf(task), 0);
}

TEST_F(TaskMeetingTest, StrangersAreTurnedAway) {
    TaskMeeting meeting = open(place(0, 2));
    TaskPlace other = place(1, 2);
    other.identity = "run 8";
    TaskLine web = say(place(1, 2), "GET / HTTP/1.1\r\n");
    TaskLine wrong = say(place(1, 2), hello(other));
    TaskLine endless = say(place(1, 2), std::string(2 * kLongestTaskLine, 'x'));
    TaskLine silent = say(place(1, 2), "");
    const pid_t task = startTask(place(1, 2));
    ASSERT_TRUE(gather(meeting).has_value());
    EXPECT_EQ(heard(web), "nothing");
    EXPECT_EQ(heard(wrong), "nothing");
    EXPECT_EQ(heard(endless), "nothing");
    for (const TaskLine* each : {&web, &wrong, &endless}) EXPECT_FALSE(each->isOpen());
    meeting.end(0);
    EXPECT_EQ(statusOf(task), 0);
}

TEST_F(TaskMeetingTest, AFloodOfConnectionsKeepsNobodyOut) {
    TaskMeeting meeting = open(place(0, 2));
    std::vector<TaskLine> flood;
    for (int i = 0; i < 300; ++i) flood.push_back(say(place(1, 2), ""));
    const pid_t task = startTask(place(1, 2));
    ASSERT_TRUE(gather(meeting).has_value());
    const auto open = std::count_if(flood.begin(), flood.end(), [](TaskLine& line) {
        line.take();
        return line.isOpen();
    });
    EXPECT_LT(open, 100) << "descriptors that strangers hold";
    meeting.end(0);
    EXPECT_EQ(statusOf(task), 0);
}

TEST_F(TaskMeetingTest, WhoDoesNotFitIsRefusedWithASentence) {
    TaskMeeting meeting = open(place(0, 3));
    TaskLine one = say(place(1, 3), hello(place(1, 3)));
    TaskLine twice = say(place(1, 3), hello(place(1, 3)));
    TaskLine zero = say(place(0, 3), hello(place(0, 3)));
    TaskLine beyond = say(place(7, 3), hello(place(7, 3)));
    TaskLine size = say(place(1, 3), hello(place(1, 5)));
    TaskLine build = say(place(1, 3), hello(place(1, 3), "another build"));
    EXPECT_FALSE(gather(meeting, 1s).has_value());
    EXPECT_THAT(heard(one), HasSubstr("welcome "));
    EXPECT_THAT(heard(twice), HasSubstr("a second task says that it is rank 1"));
    EXPECT_THAT(heard(zero), HasSubstr("a second task says that it is rank 0"));
    EXPECT_THAT(heard(beyond), HasSubstr("rank 7 of 3"));
    EXPECT_THAT(heard(size), HasSubstr("counts 5 tasks, and rank 0's 3"));
    EXPECT_THAT(heard(build), HasSubstr("is another build, and rank 0's is this build"));
}

TEST_F(TaskMeetingTest, WhoIsRefusedIsSaidOnce) {
    TaskMeeting meeting = open(place(0, 3));
    TaskPlace other = place(1, 3);
    other.identity = "run 8";
    TaskLine size = say(place(1, 3), hello(place(1, 5)));
    TaskLine again = say(place(1, 3), hello(place(1, 5)));
    TaskLine stranger = say(place(1, 3), hello(other));
    TaskLine web = say(place(1, 3), "GET / HTTP/1.1\r\n");
    EXPECT_THAT(saidWhileWaiting(meeting),
                UnorderedElementsAre(
                    AllOf(HasSubstr("refused a task on "),
                          HasSubstr("task 1 counts 5 tasks, and rank 0's 3; start all alike")),
                    HasSubstr("task 1 is of another run; give each a MASTER_PORT of its own")));
}

TEST_F(TaskMeetingTest, AStrangersNameCannotSteerATerminal) {
    TaskMeeting meeting = open(place(0, 2));
    std::string line = hello(place(1, 5));
    line.replace(line.find("this build"), 4, "\x1b[2J");
    TaskLine stranger = say(place(1, 2), line);
    for (const std::string& text : saidWhileWaiting(meeting))
        EXPECT_EQ(text.find('\x1b'), text.npos) << text;
}

TEST_F(TaskMeetingTest, NamesOfOtherRunsDoNotFillTheScreen) {
    TaskMeeting meeting = open(place(0, 2));
    std::vector<TaskLine> lines;
    for (int rank = 0; rank < 40; ++rank) {
        TaskPlace other = place(rank, 64);
        other.identity = "run 8";
        lines.push_back(say(place(1, 2), hello(other)));
    }
    EXPECT_EQ(saidWhileWaiting(meeting).size(), 16u);
}

TEST_F(TaskMeetingTest, AnotherTokenIsToldOnBothSides) {
    for (const bool oneHost : {false, true}) {
        TaskPlace first = place(0, 2);
        first.token = "a secret";
        if (oneHost) first.address.clear();
        first.identity += std::to_string(m_port);
        TaskMeeting meeting = open(first);
        TaskPlace task = first;
        task.rank = 1;
        for (const char* token : {"another", ""}) {
            task.token = token;
            const pid_t served = startTask(task);
            EXPECT_THAT(saidWhileWaiting(meeting).size(), *token != 0 ? 1u : 0u)
                << "the same twice";
            EXPECT_EQ(statusOf(served), 100);
        }
    }
}

TEST_F(TaskMeetingTest, ATaskLearnsThatItsTokenIsAnother) {
    TaskPlace first = place(0, 2);
    first.token = "a secret";
    const pid_t recorder = ::fork();
    if (recorder == 0) {
        TaskMeeting meeting = open(first);
        static_cast<void>(gather(meeting));
        ::_exit(0);
    }
    m_tasks.push_back(recorder);
    const auto served = serveAsTask({place(1, 2), "this build", [] { return 0; }, kPatience});
    ASSERT_FALSE(served.has_value());
    EXPECT_EQ(served.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(served.error().message,
                AllOf(HasSubstr("at 127.0.0.1 port " + std::to_string(m_port)),
                      HasSubstr("has another SHARDSCOPE_TASK_TOKEN, or only one of both has one")));
}

TEST_F(TaskMeetingTest, ATaskThatWaitsLongSaysForWhatOnce) {
    std::vector<std::string> said;
    const auto say = [&](const std::string& text) { said.push_back(text); };
    const auto served = serveAsTask({place(1, 2), "this build", [] { return 0; }, 1s, say, 0ms});
    EXPECT_FALSE(served.has_value());
    EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("waiting for rank 0's task at 127.0.0.1 port "),
                                        HasSubstr("Connection refused"))));
}

TEST_F(TaskMeetingTest, WhoDoesNotComeIsNamed) {
    TaskMeeting meeting = open(place(0, 4));
    TaskLine two = say(place(2, 4), hello(place(2, 4)));
    const auto gathered = gather(meeting, 1s);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_EQ(gathered.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(gathered.error().message, HasSubstr("tasks 1, 3 of 4 did not come within 1 s"));
}

TEST_F(TaskMeetingTest, ATaskThatIsLostBeforeTheRunIsNamed) {
    TaskMeeting meeting = open(place(0, 3));
    TaskLine lost = say(place(2, 3), hello(place(2, 3)));
    int turns = 0;
    const auto gathered = meeting.gather(
        [&] {
            if (++turns == 3) lost.close();
            return true;
        },
        [](const std::string&) {}, kPatience);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_THAT(gathered.error().message, HasSubstr("task 2 on "));
    EXPECT_THAT(gathered.error().message, HasSubstr("was lost before the run began"));
}

TEST_F(TaskMeetingTest, ATaskThatIsAskedToStopEndsTheWaiting) {
    TaskMeeting meeting = open(place(0, 3));
    TaskLine one = say(place(1, 3), hello(place(1, 3)) + "stop\n");
    const auto gathered = gather(meeting);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_EQ(gathered.error().code, ErrorCode::kInterrupted);
}

TEST_F(TaskMeetingTest, AnAgentThatNobodyAskedForIsNotTaken) {
    TaskMeeting meeting = open(place(0, 3));
    TaskHello early = helloOf(place(1, 3), "this build");
    early.agent = true;
    TaskLine agent =
        say(place(1, 3), helloLine(TaskSecret::of(place(1, 3).identity).value(), early));
    EXPECT_FALSE(gather(meeting, 500ms).has_value());
    EXPECT_EQ(heard(agent), "nothing");
}

TEST_F(TaskMeetingTest, AServingTaskWhoseFirstIsLostFails) {
    auto meeting = std::make_unique<TaskMeeting>(open(place(0, 2)));
    const pid_t task = startTask(place(1, 2));
    ASSERT_TRUE(gather(*meeting).has_value());
    meeting.reset();
    EXPECT_EQ(statusOf(task), 100);
}

TEST_F(TaskMeetingTest, ATaskThatMeetsNobodySaysWhereItLooked) {
    const auto served = serveAsTask({place(1, 2), "this build", [] { return 0; }, 500ms});
    ASSERT_FALSE(served.has_value());
    EXPECT_EQ(served.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(served.error().message, HasSubstr("at 127.0.0.1 port " + std::to_string(m_port)));
    EXPECT_THAT(served.error().message, HasSubstr("Connection refused"));
}

TEST_F(TaskMeetingTest, ATaskWhoseFirstIsGoneBeforeItAnswersDoesNotWaitForItsPatience) {
    const pid_t task = startTask(place(1, 2));  // has no copy of what listens
    FileDescriptor first(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(m_port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(first.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(first.get(), 8), 0);
    FileDescriptor(::accept(first.get(), nullptr, nullptr)).reset();
    first.reset();
    EXPECT_EQ(statusOf(task), 100);
}

TEST_F(TaskMeetingTest, ATaskThatIsRefusedSaysWhy) {
    TaskMeeting meeting = open(place(0, 2));
    const pid_t task = startTask(place(1, 2), "another build");
    EXPECT_FALSE(gather(meeting, 2s).has_value());
    EXPECT_EQ(statusOf(task), 100);
}

TEST_F(TaskMeetingTest, APortThatIsTakenAndAnAddressOfAnotherHostAreRefused) {
    const TaskMeeting meeting = open(place(0, 2));
    const auto taken = TaskMeeting::open(place(0, 2), "this build", "");
    ASSERT_FALSE(taken.has_value());
    EXPECT_THAT(taken.error().message, HasSubstr("choose another MASTER_PORT"));
    TaskPlace elsewhere = place(0, 2);
    elsewhere.address = "192.0.2.7";
    const auto other = TaskMeeting::open(elsewhere, "this build", "");
    ASSERT_FALSE(other.has_value());
    EXPECT_THAT(other.error().message, HasSubstr("192.0.2.7 is no address of this host"));
    const auto interface = TaskMeeting::open(elsewhere, "this build", "nowhere7");
    ASSERT_FALSE(interface.has_value());
    EXPECT_THAT(interface.error().message, HasSubstr("no network interface or address 'nowhere7'"));
}

}  // namespace
}  // namespace shardscope::launch
