// The agent in a process of its own, with this test in the recorder's place and fake ranks.
#include "engine/launch/agent.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <utility>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;

bool isAlive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto state = text.rfind(") ");
    return state != std::string::npos && text[state + 2] != 'Z';
}

class AgentTest : public testing::Test {
protected:
    ~AgentTest() override {
        m_channel.close();
        if (m_agent > 0) ::waitpid(m_agent, nullptr, 0);
        for (const char* name : {"FAKE_RANK_MODE", "FAKE_RANK_STEP", "FAKE_RANK_STEP_MS"})
            ::unsetenv(name);
    }

    void startAgent(AgentTimes times = {}, std::optional<run::TaskTerms> terms = std::nullopt) {
        auto ends = socketPair();
        ASSERT_TRUE(ends.has_value());
        m_agent = ::fork();
        if (m_agent == 0) {
            ends->first.reset();
            std::signal(SIGPIPE, SIG_IGN);
            Agent agent(FrameChannel(std::move(ends->second)), "agent under test", times,
                        {"/bin/false"}, std::move(terms));
            ::_exit(agent.run());
        }
        m_channel = FrameChannel(std::move(ends->first));
    }
    void requestRun(std::int32_t steps, const std::string& program = SHARDSCOPE_FAKE_RANK) {
        m_channel.send(run::kNoRank, requestOf(steps, program));
    }
    static run::LaunchRequest requestOf(std::int32_t steps, const std::string& program) {
        run::LaunchRequest request;
        request.config.steps = steps;
        request.config.threads = 3;
        request.config.hostLease = 0;  // the agent's own
        request.places = run::RankPlaces::onOneHost(request.config.ranks);
        request.rankProgram = program;
        request.segmentBytes = 1 << 20;
        return request;
    }
    int statusOfAgent() {
        int status = 0;
        m_channel.close();
        ::waitpid(std::exchange(m_agent, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    /// Takes frames in until `done`, at most 20 s. Sends nothing by itself
    /// but what has come, where that is told.
    bool receiveUntil(const std::function<bool()>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            m_channel.flush();
            std::vector<pollfd> polls;
            m_channel.addPolls(polls, true);
            ::poll(polls.data(), polls.size(), 10);
            std::vector<run::Frame> frames;
            EXPECT_TRUE(m_channel.receive(frames).has_value());
            for (const auto& frame : frames) take(frame);
        }
        return true;
    }
    bool ranksRun() {
        return receiveUntil([this] { return m_pids.size() == 2 && m_steps >= 2; });
    }
    bool ranksGone() const { return !isAlive(m_pids.at(0)) && !isAlive(m_pids.at(1)); }

    FrameChannel m_channel;
    pid_t m_agent = -1;
    std::optional<run::AgentHello> m_hello;
    std::vector<pid_t> m_pids;
    std::vector<run::RankExited> m_exits;
    std::vector<run::RankFailed> m_failures;
    int m_steps = 0;
    int m_chunks = 0;
    int m_heartbeats = 0;
    std::int64_t m_taken = 0;
    bool m_tellsTaken = false;
    bool m_done = false;

private:
    void take(const run::Frame& frame) {
        if (frame.type == run::FrameType::kChunk) {
            ++m_chunks;
            m_taken += static_cast<std::int64_t>(frame.payload.size() + run::kFrameHeaderBytes);
            if (m_tellsTaken) m_channel.send(run::kNoRank, run::Taken{m_taken});
            return;
        }
        const auto message = run::decode(frame.text());
        ASSERT_TRUE(message.has_value()) << message.error().message;
        if (const auto* hello = std::get_if<run::AgentHello>(&*message)) m_hello = *hello;
        if (const auto* started = std::get_if<run::RankStarted>(&*message)) {
            m_pids.push_back(static_cast<pid_t>(started->pid));
        }
        if (const auto* exit = std::get_if<run::RankExited>(&*message)) m_exits.push_back(*exit);
        if (const auto* failed = std::get_if<run::RankFailed>(&*message)) {
            m_failures.push_back(*failed);
        }
        if (std::holds_alternative<run::StepDone>(*message)) ++m_steps;
        if (std::holds_alternative<run::Heartbeat>(*message)) ++m_heartbeats;
        if (std::holds_alternative<run::AgentDone>(*message)) m_done = true;
    }
};

TEST_F(AgentTest, SaysWhoItIsAndPassesARunOn) {
    startAgent();
    ASSERT_TRUE(receiveUntil([this] { return m_hello.has_value(); }));
    EXPECT_EQ(m_hello->protocol, run::kProtocolVersion);
    EXPECT_EQ(m_hello->product, "agent under test");
    EXPECT_GE(m_hello->host.cores, 1);
    EXPECT_FALSE(m_hello->host.name.empty());
    requestRun(5);
    ASSERT_TRUE(receiveUntil([this] { return m_done; }));
    EXPECT_EQ(m_steps, 10);
    EXPECT_EQ(m_chunks, 20);
    ASSERT_EQ(m_exits.size(), 2u);
    EXPECT_EQ(m_exits[0].code, 0);
    EXPECT_THAT(m_exits[0].lastWords, HasSubstr("OMP_NUM_THREADS=3"));
}

TEST_F(AgentTest, LosesNothingWhenTheRecorderIsSlow) {
    ::setenv("FAKE_RANK_STEP_MS", "0", 1);
    m_tellsTaken = true;
    startAgent();
    requestRun(3000);
    // Long enough unread that socket buffers alone could not hold it.
    m_channel.flush();
    ::poll(nullptr, 0, 300);
    ASSERT_TRUE(receiveUntil([this] { return m_done; }));
    EXPECT_EQ(m_steps, 6000);
    EXPECT_EQ(m_chunks, 12000);
}

TEST_F(AgentTest, EndsItsRanksWhenTheRecorderIsGone) {
    startAgent();
    requestRun(1'000'000);
    ASSERT_TRUE(ranksRun());
    EXPECT_FALSE(ranksGone()) << "alive before";
    m_channel.close();
    EXPECT_TRUE(receiveUntil([this] { return ranksGone(); })) << "gone after";
}

TEST_F(AgentTest, EndsItsRanksWhenTheRecorderIsSilent) {
    startAgent({.lease = std::chrono::milliseconds(400)});
    requestRun(1'000'000);
    ASSERT_TRUE(ranksRun());
    EXPECT_TRUE(receiveUntil([this] { return ranksGone(); }));
    EXPECT_TRUE(receiveUntil([this] { return !m_channel.isOpen(); }));
}

TEST_F(AgentTest, WaitsForALocalRecorderThatIsOnlyStopped) {
    startAgent({.lease = std::chrono::milliseconds(100), .leased = false});
    requestRun(1'000'000);
    ASSERT_TRUE(ranksRun());
    // Neither read nor written, several leases long, as by a process that was stopped.
    ::poll(nullptr, 0, 700);
    EXPECT_FALSE(ranksGone());
    const int before = m_steps;
    EXPECT_TRUE(receiveUntil([&] { return m_steps > before + 200; })) << "what it said meanwhile";
    m_channel.close();
    EXPECT_TRUE(receiveUntil([this] { return ranksGone(); })) << "its end is heard of at once";
}

TEST_F(AgentTest, SendsHeartbeats) {
    startAgent({.heartbeat = std::chrono::milliseconds(20)});
    EXPECT_TRUE(receiveUntil([this] { return m_heartbeats >= 3; }));
}

TEST_F(AgentTest, KillsARankThatHangsWhileAnotherHasFailed) {
    ::setenv("FAKE_RANK_MODE", "hang", 1);
    ::setenv("FAKE_RANK_STEP", "0", 1);  // before it could hear of a stop
    startAgent({.graceAfterFailure = std::chrono::milliseconds(100)});
    requestRun(1'000'000);
    ASSERT_TRUE(ranksRun());
    ::kill(m_pids[0], SIGKILL);
    ASSERT_TRUE(receiveUntil([this] { return m_done; }));
    ASSERT_EQ(m_exits.size(), 2u);
    EXPECT_EQ(m_exits[0].rank, 0) << "the first to end comes first";
    EXPECT_EQ(m_exits[1].signal, SIGKILL);
}

TEST_F(AgentTest, KillsARankThatHasSaidItsLastAndDoesNotEnd) {
    ::setenv("FAKE_RANK_MODE", "linger", 1);
    startAgent({.lease = std::chrono::milliseconds(300)});
    requestRun(20);
    ASSERT_TRUE(receiveUntil([this] {
        m_channel.send(run::kNoRank, run::Heartbeat{});
        return m_done;
    }));
    ASSERT_EQ(m_exits.size(), 2u);
    EXPECT_EQ(m_exits[1].rank, 1);
    EXPECT_EQ(m_exits[1].signal, SIGKILL);
}

TEST_F(AgentTest, TellsThatARankCannotBeStarted) {
    startAgent();
    requestRun(1, "/no/such/rank");
    ASSERT_TRUE(receiveUntil([this] { return m_done; }));
    ASSERT_EQ(m_failures.size(), 1u);
    EXPECT_EQ(m_failures[0].code, "launch");
    EXPECT_THAT(m_failures[0].message, HasSubstr("/no/such/rank cannot be started"));
}

/// As a task starts it.
class TaskAgentTest : public AgentTest {
protected:
    static run::TaskTerms terms() {
        run::TaskTerms terms;
        terms.rankProgram = SHARDSCOPE_FAKE_RANK;
        terms.config = asked("").config;
        return terms;
    }
    /// The two last of three ranks.
    static run::LaunchRequest asked(const std::string& program) {
        run::LaunchRequest request = requestOf(5, program);
        request.config.ranks = 3;
        request.places = {{1, 2}};
        request.meeting.key = network::drawNonce();
        request.host = 1;
        return request;
    }
    /// What it says to it; nothing has been started.
    std::string refusalOf(const run::LaunchRequest& request) {
        startAgent({}, terms());
        m_channel.send(run::kNoRank, request);
        EXPECT_TRUE(receiveUntil([this] { return !m_failures.empty() && !m_channel.isOpen(); }))
            << "it ends, although we stay connected";
        EXPECT_TRUE(m_pids.empty());
        EXPECT_EQ(statusOfAgent(), static_cast<int>(ErrorCode::kLaunch));
        return m_failures.empty() ? "" : m_failures[0].message;
    }
};

TEST_F(TaskAgentTest, StartsItsOwnRankWhateverTheRecorderHas) {
    startAgent({.leased = false}, terms());
    m_channel.send(run::kNoRank, asked(""));
    ASSERT_TRUE(receiveUntil([this] { return m_done; }));
    EXPECT_EQ(m_steps, 10);
    EXPECT_EQ(statusOfAgent(), 0);
}

TEST_F(TaskAgentTest, StartsNoRankWithoutAKeyForItsConnections) {
    run::LaunchRequest request = asked("");
    request.meeting.key = "none";
    startAgent({.leased = false}, terms());
    m_channel.send(run::kNoRank, request);
    ASSERT_TRUE(receiveUntil([this] { return !m_failures.empty(); }));
    EXPECT_EQ(m_failures[0].message, "the recorder sent no key for the ranks' connections");
    EXPECT_TRUE(m_pids.empty());
}

TEST_F(TaskAgentTest, StartsNoProgramOfTheRecorders) {
    EXPECT_THAT(refusalOf(asked("/usr/bin/ldd")), HasSubstr("refuses to run '/usr/bin/ldd'"));
}

TEST_F(TaskAgentTest, TakesNoVariableOfTheRecorders) {
    run::LaunchRequest evil = asked("");
    evil.environment["BASH_ENV"] = "$(touch pwned)";
    EXPECT_THAT(refusalOf(evil), HasSubstr("the environment variable BASH_ENV"));
}

TEST_F(TaskAgentTest, WritesIntoNoFolderOfTheRecorders) {
    run::LaunchRequest evil = asked("");
    evil.config.checkpoint = "/home/victim";
    EXPECT_THAT(refusalOf(evil), HasSubstr("'/home/victim' as checkpoint"));
}

}  // namespace
}  // namespace shardscope::launch
