// Rank 0's task and the others, over loopback and over a local socket. Tasks are processes of their
// own where they serve, and sockets of this one where they misbehave.
#include "engine/launch/tasks/task_meeting.h"

#include "engine/launch/tasks/task_member.h"
#include "tests/engine/launch/tasks/loopback.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr auto kPatience = 30s;
constexpr const char* kSecret = "a secret of sixteen letters";

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
        return {Launcher::kTorchrun, rank, size, node, "127.0.0.1", m_port, "run 7", kSecret};
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
                serveAsTask({place, product, [] { return 0; }, std::chrono::minutes(30), noTerms});
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
    /// Waits until it says something.
    static std::string firstSaid(TaskMeeting& meeting) {
        std::string said;
        const auto say = [&](const std::string& text) { said = text; };
        EXPECT_FALSE(meeting.gather([&] { return said.empty(); }, say, kPatience).has_value());
        return said;
    }
    static Result<void> gather(TaskMeeting& meeting,
                               std::chrono::milliseconds patience = kPatience) {
        return meeting.gather([] { return true; }, [](const std::string&) {}, patience);
    }
    /// A connection on which a stranger says what a test says.
    static TaskLine say(const TaskPlace& place, const std::string& line) {
        TaskLine made(connectToFirst(place, TaskSecret::of(place), 5s).value());
        if (!line.empty()) made.send(line);
        return made;
    }
    static std::string hello(const TaskPlace& place, const std::string& product = "this build") {
        return JoiningHandshake(TaskSecret::of(place), helloOf(place, product)).hello();
    }
    /// A task that proves the secret as the real one does, and is then as a test wants it.
    class Proving {
    public:
        Proving(const TaskPlace& place, TaskHello hello)
            : m_line(connectToFirst(place, TaskSecret::of(place), 5s).value()),
              m_handshake(TaskSecret::of(place), std::move(hello)) {
            m_line.send(m_handshake.hello());
        }
        explicit Proving(const TaskPlace& place, const std::string& product = "this build")
            : Proving(place, helloOf(place, product)) {}
        /// Its part of what there is to do now.
        void turn() {
            if (m_answer) return;
            const auto said = m_line.take();
            if (!said) return;
            if (!std::exchange(m_proved, true)) {
                if (const auto proof = m_handshake.prove(*said)) m_line.send(*proof);
                return;
            }
            m_answer = m_handshake.hear(*said);
            if (m_answer->verdict == JoiningHandshake::Verdict::kWelcome)
                m_line.seal(m_handshake.seals());
        }
        [[nodiscard]] bool isWelcome() const {
            return m_answer && m_answer->verdict == JoiningHandshake::Verdict::kWelcome;
        }
        /// It has its answer, or will get none.
        [[nodiscard]] bool isDone() const { return m_answer || !m_line.isOpen(); }
        [[nodiscard]] std::string refusal() const { return m_answer ? m_answer->sentence : ""; }
        TaskLine& line() { return m_line; }

    private:
        TaskLine m_line;
        JoiningHandshake m_handshake;
        bool m_proved = false;
        std::optional<JoiningHandshake::Answer> m_answer;
    };
    /// Gathers while they do their part, until each has its answer; what rank 0's task has said.
    static std::vector<std::string> gatherWith(TaskMeeting& meeting,
                                               const std::vector<Proving*>& tasks) {
        std::vector<std::string> said;
        const auto left = [&] {
            return std::any_of(tasks.begin(), tasks.end(), [](Proving* each) {
                each->turn();
                return !each->isDone();
            });
        };
        const auto gathered = meeting.gather(
            left, [&](const std::string& text) { said.push_back(text); }, kPatience);
        EXPECT_FALSE(gathered.has_value());
        EXPECT_EQ(gathered.error().code, ErrorCode::kInterrupted) << "some have no answer";
        return said;
    }
    static run::TaskTerms noTerms() { return {}; }
    static TaskService service(const TaskPlace& place, std::chrono::milliseconds patience) {
        return {place, "this build", [] { return 0; }, patience, noTerms};
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
    TaskLine web = say(place(1, 2), "GET / HTTP/1.1\r");
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
    const auto counting = [&](std::int32_t rank, std::int32_t size) {
        return helloOf(place(rank, size), "this build");
    };
    Proving one(place(1, 3)), zero(place(0, 3)), beyond(place(7, 3)),
        size(place(1, 3), counting(1, 5)), build(place(1, 3), "another build");
    gatherWith(meeting, {&one, &zero, &beyond, &size, &build});
    EXPECT_TRUE(one.isWelcome());
    Proving twice(place(1, 3));
    gatherWith(meeting, {&twice});
    EXPECT_THAT(twice.refusal(), HasSubstr("a second task says that it is rank 1"));
    EXPECT_THAT(zero.refusal(), HasSubstr("a second task says that it is rank 0"));
    EXPECT_THAT(beyond.refusal(), HasSubstr("rank 7 of 3"));
    EXPECT_THAT(size.refusal(), HasSubstr("counts 5 tasks, and rank 0's 3"));
    EXPECT_THAT(build.refusal(), HasSubstr("is another build, and rank 0's is this build"));
}

TEST_F(TaskMeetingTest, WhoIsRefusedIsSaidOnce) {
    TaskMeeting meeting = open(place(0, 3));
    TaskPlace other = place(1, 3);
    other.identity = "run 8";
    const TaskHello five = helloOf(place(1, 5), "this build");
    Proving size(place(1, 3), five), again(place(1, 3), five);
    TaskLine stranger = say(place(1, 3), hello(other));
    TaskLine web = say(place(1, 3), "GET / HTTP/1.1\r");
    std::vector<std::string> said = gatherWith(meeting, {&size, &again});
    for (std::string& text : saidWhileWaiting(meeting)) said.push_back(std::move(text));
    EXPECT_THAT(said, UnorderedElementsAre(
                          AllOf(HasSubstr("refused a task on "),
                                HasSubstr("task 1 counts 5 tasks, and rank 0's 3; start all "
                                          "alike")),
                          HasSubstr("task 1 is of another run; give each a MASTER_PORT of its "
                                    "own")));
}

TEST_F(TaskMeetingTest, AStrangersNameCannotSteerATerminal) {
    TaskMeeting meeting = open(place(0, 2));
    TaskPlace other = place(1, 2);
    other.identity = "run 8";
    std::string line = hello(other);
    const std::string host = helloOf(other, "").host;
    line.replace(line.rfind(host), host.size(), "\x1b[2Jevil");
    TaskLine stranger = say(place(1, 2), line);
    EXPECT_THAT(saidWhileWaiting(meeting),
                ElementsAre(AllOf(HasSubstr("at 127.0.0.1"), HasSubstr("2Jevil"))));
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
    EXPECT_EQ(saidWhileWaiting(meeting).size(), 4u) << "of one address";
    // What a task of this run is refused for is said all the same.
    Proving size(place(1, 2), helloOf(place(1, 5), "this build"));
    std::vector<std::string> said = gatherWith(meeting, {&size});
    for (std::string& text : saidWhileWaiting(meeting)) said.push_back(std::move(text));
    EXPECT_THAT(said, ElementsAre(HasSubstr("task 1 counts 5 tasks")));
}

TEST_F(TaskMeetingTest, AnotherSecretIsToldOnBothSidesAndWaitedThrough) {
    for (const bool oneHost : {false, true}) {
        TaskPlace first = place(0, 2);
        if (oneHost) first.address.clear();
        first.identity += std::to_string(m_port);
        TaskMeeting meeting = open(first);
        TaskPlace task = first;
        task.rank = 1;
        for (const char* secret : {"another secret of enough letters", ""}) {
            task.secret = secret;
            const pid_t served = startTask(task);
            if (*secret != 0) {
                EXPECT_THAT(firstSaid(meeting), HasSubstr("task 1 has another secret"));
            }
            EXPECT_THAT(saidWhileWaiting(meeting), IsEmpty()) << "the same twice";
            EXPECT_EQ(::waitpid(served, nullptr, WNOHANG), 0) << "it may be a stranger's answer";
        }
        task.secret = kSecret;
        const pid_t right = startTask(task);
        ASSERT_TRUE(gather(meeting).has_value());
        meeting.end(7);
        EXPECT_EQ(statusOf(right), 7);
    }
}

TEST_F(TaskMeetingTest, ATaskLearnsThatItsSecretIsAnother) {
    TaskPlace first = place(0, 2);
    first.secret = "another secret of enough letters";
    const pid_t recorder = ::fork();
    if (recorder == 0) {
        TaskMeeting meeting = open(first);
        static_cast<void>(gather(meeting));
        ::_exit(0);
    }
    m_tasks.push_back(recorder);
    std::vector<std::string> said;
    TaskService asking = service(place(1, 2), kPatience);
    asking.say = [&](const std::string& text) { said.push_back(text); };
    asking.timesAsked = [&] { return said.empty() ? 0 : 1; };
    const auto served = serveAsTask(asking);
    ASSERT_FALSE(served.has_value());
    EXPECT_EQ(served.error().code, ErrorCode::kInterrupted) << "it would have gone on waiting";
    EXPECT_THAT(said,
                ElementsAre(AllOf(HasSubstr("at 127.0.0.1 port " + std::to_string(m_port)),
                                  HasSubstr("has another secret, or only one of both has one"),
                                  HasSubstr("the same SHARDSCOPE_TASK_TOKEN"))));
}

TEST_F(TaskMeetingTest, ATaskThatWaitsLongSaysForWhatOnce) {
    std::vector<std::string> said;
    const auto say = [&](const std::string& text) { said.push_back(text); };
    TaskService waiting = service(place(1, 2), 1s);
    waiting.say = say;
    waiting.sayAfter = 0ms;
    const auto served = serveAsTask(waiting);
    EXPECT_FALSE(served.has_value());
    EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("waiting for rank 0's task at 127.0.0.1 port "),
                                        HasSubstr("Connection refused"))));
}

TEST_F(TaskMeetingTest, WhoDoesNotComeIsNamed) {
    TaskMeeting meeting = open(place(0, 4));
    Proving two(place(2, 4));
    gatherWith(meeting, {&two});
    const auto gathered = gather(meeting, 1s);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_EQ(gathered.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(gathered.error().message, HasSubstr("tasks 1, 3 of 4 did not come within 1 s"));
}

TEST_F(TaskMeetingTest, ATaskThatIsLostBeforeTheRunIsNamed) {
    TaskMeeting meeting = open(place(0, 3));
    Proving lost(place(2, 3));
    const auto gathered = meeting.gather(
        [&] {
            lost.turn();
            if (lost.isWelcome()) lost.line().close();
            return true;
        },
        [](const std::string&) {}, kPatience);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_THAT(gathered.error().message, HasSubstr("task 2 on "));
    EXPECT_THAT(gathered.error().message, HasSubstr("was lost before the run began"));
}

TEST_F(TaskMeetingTest, ATaskThatIsAskedToStopEndsTheWaiting) {
    TaskMeeting meeting = open(place(0, 3));
    Proving one(place(1, 3));
    const auto gathered = meeting.gather(
        [&] {
            one.turn();
            if (one.isWelcome()) one.line().send("stop");
            return true;
        },
        [](const std::string&) {}, kPatience);
    ASSERT_FALSE(gathered.has_value());
    EXPECT_EQ(gathered.error().code, ErrorCode::kInterrupted);
}

TEST_F(TaskMeetingTest, AnAgentThatNobodyAskedForIsNotTaken) {
    TaskMeeting meeting = open(place(0, 3));
    TaskHello early = helloOf(place(1, 3), "this build");
    early.agent = true;
    Proving agent(place(1, 3), early);
    gatherWith(meeting, {&agent});
    EXPECT_FALSE(agent.isWelcome());
}

/// Each on its own connection, also where they share a host; its status is its program's.
TEST_F(TaskMeetingTest, EveryTaskWithAProgramConnects) {
    auto meeting = TaskMeeting::open(place(0, 3), "this build", "", TaskWork::kProgram);
    ASSERT_TRUE(meeting.has_value());
    std::vector<pid_t> tasks;
    for (const std::int32_t rank : {1, 2}) {
        tasks.push_back(::fork());
        m_tasks.push_back(tasks.back());
        if (tasks.back() != 0) continue;
        TaskService served = service(place(rank, 3), kPatience);
        served.program = [rank](FrameChannel recorder) -> Result<int> {
            recorder.send(RankId{static_cast<std::uint32_t>(rank)}, run::Heartbeat{});
            recorder.flush();
            for (std::vector<run::Frame> none; recorder.isOpen();) {
                std::vector<pollfd> polls;
                recorder.addPolls(polls, true);
                ::poll(polls.data(), polls.size(), 100);
                if (!recorder.receive(none)) break;
            }
            return 40 + rank;
        };
        const auto status = serveAsTask(served);
        ::_exit(status ? *status : 100);
    }
    ASSERT_TRUE(gather(*meeting).has_value());
    ASSERT_TRUE(meeting->startAgents([] { return true; }).has_value());
    for (const std::uint32_t rank : {1u, 2u}) {
        FrameChannel channel = meeting->takeAgent(rank)->takeChannel();
        std::vector<run::Frame> frames;
        while (frames.empty() && channel.isOpen()) {
            std::vector<pollfd> polls;
            channel.addPolls(polls, true);
            ::poll(polls.data(), polls.size(), 100);
            ASSERT_TRUE(channel.receive(frames).has_value());
        }
        ASSERT_FALSE(frames.empty());
        EXPECT_EQ(frames.front().rank, RankId{rank});
    }
    EXPECT_EQ(statusOf(tasks[0]), 41);
    EXPECT_EQ(statusOf(tasks[1]), 42);
}

TEST_F(TaskMeetingTest, ATaskWithOtherWorkIsRefused) {
    auto meeting = TaskMeeting::open(place(0, 2), "this build", "", TaskWork::kProgram);
    ASSERT_TRUE(meeting.has_value());
    startTask(place(1, 2));
    EXPECT_THAT(firstSaid(*meeting), HasSubstr("this build, recording a program"));
}

TEST_F(TaskMeetingTest, AServingTaskWhoseFirstIsLostFails) {
    auto meeting = std::make_unique<TaskMeeting>(open(place(0, 2)));
    const pid_t task = startTask(place(1, 2));
    ASSERT_TRUE(gather(*meeting).has_value());
    meeting.reset();
    EXPECT_EQ(statusOf(task), 100);
}

TEST_F(TaskMeetingTest, ATaskThatMeetsNobodySaysWhereItLooked) {
    const auto served = serveAsTask(service(place(1, 2), 500ms));
    ASSERT_FALSE(served.has_value());
    EXPECT_EQ(served.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(served.error().message, HasSubstr("at 127.0.0.1 port " + std::to_string(m_port)));
    EXPECT_THAT(served.error().message, HasSubstr("Connection refused"));
}

TEST_F(TaskMeetingTest, AListenerThatGoesAwayAgainDoesNotEndTheWaiting) {
    const pid_t task = startTask(place(1, 2));  // has no copy of what listens
    {
        const FileDescriptor stranger = listenAsStranger(m_port);
        FileDescriptor(::accept(stranger.get(), nullptr, nullptr)).reset();
    }
    TaskMeeting meeting = open(place(0, 2));
    ASSERT_TRUE(gather(meeting).has_value());
    meeting.end(3);
    EXPECT_EQ(statusOf(task), 3);
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
