// Runs on several hosts that are all this one: agents in processes of their own, ranks without an
// engine. The hosts' clocks are one, and the exchange does not know it.
#include "engine/launch/agent.h"
#include "engine/launch/process.h"
#include "engine/launch/run_supervisor.h"
#include "storage/model/host_facts.h"
#include "tests/engine/launch/forked_agent.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

int goodAgent(FrameChannel recorder) {
    return Agent(std::move(recorder), "agent under test").run();
}

class KeptWords : public RunSink {
public:
    void hostReady(const HostFacts& host) override {
        hosts.push_back(host);
        if (onReady) onReady();
    }
    void message(RankId rank, const run::Message& message) override {
        if (const auto* started = std::get_if<run::RankStarted>(&message))
            pids[rank.value] = static_cast<pid_t>(started->pid);
        if (std::holds_alternative<run::RankFinished>(message)) ++finished;
        if (std::holds_alternative<run::StepDone>(message)) ++steps;
        if (onMessage) onMessage();
    }
    void chunk(RankId, std::span<const std::byte>) override { ++chunks; }
    void backlog(std::int32_t, const run::Backlog& held) override {
        mostHeld = std::max(mostHeld, held.bytes);
        mostOnDisk = std::max(mostOnDisk, held.onDisk);
        lastHeld = held;
        if (onBacklog) onBacklog();
    }
    void tick() override {}

    std::vector<HostFacts> hosts;
    std::map<std::uint32_t, pid_t> pids;
    int finished = 0, steps = 0, chunks = 0;
    std::int64_t mostHeld = 0, mostOnDisk = 0;
    run::Backlog lastHeld{};
    std::function<void()> onMessage, onReady, onBacklog;
};

/// A process that has ended may wait for its parent, who is not us.
bool endsSoon(pid_t pid) {
    for (int turn = 0; turn < 2000; ++turn) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
        std::string id, name, state;
        if (!(file >> id >> name >> state) || state == "Z") return true;
        ::poll(nullptr, 0, 5);
    }
    return false;
}

class HostsTest : public testing::Test {
protected:
    /// `name` with as many ranks.
    void addHost(const std::string& name, std::int32_t ranks,
                 const std::function<int(FrameChannel)>& agent = goodAgent) {
        m_request.launch.places.perHost.push_back(ranks);
        m_request.launch.config.ranks = m_request.launch.places.ranks();
        HostRun host;
        host.name = name;
        host.interface = "lo";
        host.rankProgram = SHARDSCOPE_FAKE_RANK;
        host.segmentBytes = 1 << 20;
        host.start = [agent]() -> Result<std::unique_ptr<AgentTransport>> {
            return std::unique_ptr<AgentTransport>(
                std::make_unique<ForkedAgent>([agent](FileDescriptor socket) {
                    std::signal(SIGPIPE, SIG_IGN);
                    return agent(FrameChannel(std::move(socket)));
                }));
        };
        m_request.hosts.push_back(std::move(host));
    }
    RunOutcome run() {
        m_request.launch.config.steps = 4;
        m_request.launch.config.threads = 1;
        RunSupervisor supervisor(std::move(m_request), m_words);
        return supervisor.run();
    }
    std::string failure() { return run().failure.value_or(Error{}).message; }

    RunRequest m_request;
    KeptWords m_words;
};

TEST_F(HostsTest, RanksOfAllHostsRunAndTheirClocksAreCompared) {
    addHost("node-a", 2);
    addHost("node-b", 1);
    m_request.launch.originNs = 5'000;
    const RunOutcome outcome = run();
    EXPECT_FALSE(outcome.failure) << outcome.failure->message;
    EXPECT_EQ(m_words.finished, 3);
    EXPECT_EQ(m_words.steps, 12);
    EXPECT_GT(m_words.chunks, 0);
    EXPECT_EQ(m_words.pids.size(), 3u);
    ASSERT_EQ(m_words.hosts.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(m_words.hosts[i].host, static_cast<std::int32_t>(i));
        EXPECT_EQ(m_words.hosts[i].name, i == 0 ? "node-a" : "node-b");
        EXPECT_GT(m_words.hosts[i].clockErrorNs, 0);
        EXPECT_LE(std::abs(m_words.hosts[i].clockOffsetNs + 5'000), m_words.hosts[i].clockErrorNs);
    }
}

TEST_F(HostsTest, AStopInTheTurnOfTheAgentsHelloStartsNoRank) {
    addHost("node-a", 2);
    m_request.launch.config.steps = 4;
    RunSupervisor supervisor(std::move(m_request), m_words);
    const FileDescriptor readable(::eventfd(1, EFD_CLOEXEC));
    supervisor.watch(readable.get(), [&] {
        ::poll(nullptr, 0, 300);  // the hello is there when the agents are turned to
        supervisor.requestStop();
        return false;
    });
    const RunOutcome outcome = supervisor.run();
    EXPECT_TRUE(outcome.stopped);
    EXPECT_FALSE(outcome.failure);
    EXPECT_TRUE(m_words.pids.empty());
}

TEST_F(HostsTest, AStopBeforeTheLaunchStartsNoRank) {
    addHost("node-a", 1);
    addHost("node-b", 1);
    m_request.launch.config.steps = 4;
    RunSupervisor supervisor(std::move(m_request), m_words);
    m_words.onReady = [&] { supervisor.requestStop(); };
    const RunOutcome outcome = supervisor.run();
    EXPECT_TRUE(outcome.stopped);
    EXPECT_FALSE(outcome.failure);
    EXPECT_TRUE(m_words.pids.empty());
}

TEST_F(HostsTest, ARankThatFailsIsNamedWithItsHostAndEndsAllOthers) {
    ::setenv("FAKE_RANK_MODE", "kill", 1);
    ::setenv("FAKE_RANK_WHO", "2", 1);
    addHost("node-a", 2);
    addHost("node-b", 2);
    EXPECT_THAT(failure(), HasSubstr("rank 2 on node-b was ended by signal 9 (Killed)"));
    for (const auto& [rank, pid] : m_words.pids) EXPECT_TRUE(endsSoon(pid)) << rank;
    ::unsetenv("FAKE_RANK_MODE");
    ::unsetenv("FAKE_RANK_WHO");
}

TEST_F(HostsTest, ALostHostIsNamedAndEndsAllOthers) {
    addHost("node-a", 1);
    addHost("node-b", 1, [](FrameChannel recorder) {
        ::alarm(1);  // after its ranks have started
        return goodAgent(std::move(recorder));
    });
    ::setenv("FAKE_RANK_STEP_MS", "60000", 1);
    EXPECT_THAT(failure(), HasSubstr("the agent on node-b was lost: the connection was lost"));
    ::unsetenv("FAKE_RANK_STEP_MS");
    EXPECT_EQ(m_words.pids.size(), 2u);
    for (const auto& [rank, pid] : m_words.pids) EXPECT_TRUE(endsSoon(pid)) << rank;
}

TEST_F(HostsTest, AHostWithoutSuchAnInterfaceIsNamed) {
    addHost("node-a", 1);
    addHost("node-b", 1);
    m_request.hosts[1].interface = "nowhere7";
    EXPECT_THAT(failure(), HasSubstr("node-b: this host has no network interface or address "
                                     "'nowhere7'"));
    EXPECT_TRUE(m_words.pids.empty());
}

TEST_F(HostsTest, WithoutMemoryForItsRanksAHostIsNamed) {
    addHost("node-a", 1);
    addHost("node-b", 1);
    m_request.hosts[1].needBytes = std::int64_t{1} << 60;
    EXPECT_THAT(failure(),
                HasSubstr("node-b: its ranks take 1152921504606 MB of memory by theory"));
    EXPECT_TRUE(m_words.pids.empty());
}

/// Whose sums of data are what the file in its place holds.
int summingAgent(FrameChannel recorder) {
    return Agent(std::move(recorder), "agent under test", {}, {"/bin/cat"}).run();
}

class HostsDataTest : public HostsTest {
protected:
    std::string sum(const std::string& name, const run::DataChecked& said) const {
        std::ofstream(m_folder.file(name)) << run::encode(said);
        return m_folder.file(name);
    }
    test::TemporaryFolder m_folder;
};

TEST_F(HostsDataTest, ThatIsTheSameEverywhereIsTrainedOn) {
    addHost("node-a", 1, summingAgent);
    addHost("node-b", 1, summingAgent);
    m_request.launch.config.data = sum("here", {"cafe", 7, ""});
    m_request.hosts[1].data = sum("there", {"cafe", 7, ""});
    const RunOutcome outcome = run();
    EXPECT_FALSE(outcome.failure) << outcome.failure->message;
    EXPECT_EQ(m_words.finished, 2);
}

TEST_F(HostsDataTest, ThatDiffersIsNamedBeforeAnyRankStarts) {
    addHost("node-a", 1, summingAgent);
    addHost("node-b", 1, summingAgent);
    m_request.launch.config.data = sum("here", {"cafe", 7, ""});
    m_request.hosts[1].data = sum("there", {"beef", 8, ""});
    EXPECT_THAT(failure(), AllOf(HasSubstr("/there on node-b is not what "),
                                 HasSubstr("/here is on node-a: 8 bytes with checksum beef, and 7 "
                                           "bytes with cafe")));
    EXPECT_TRUE(m_words.pids.empty());
}

TEST_F(HostsDataTest, ThatCannotBeReadIsNamed) {
    addHost("node-a", 1, summingAgent);
    addHost("node-b", 1, summingAgent);
    m_request.launch.config.data = sum("here", {"cafe", 7, ""});
    m_request.hosts[1].data = sum("there", {"", 0, "it is not there"});
    EXPECT_THAT(failure(), HasSubstr("node-b: it is not there"));
    EXPECT_TRUE(m_words.pids.empty());
}

TEST_F(HostsDataTest, WhoseSumIsNoneIsASentence) {
    addHost("node-a", 1, summingAgent);
    addHost("node-b", 1, summingAgent);
    m_request.launch.config.data = m_folder.file("none");
    EXPECT_THAT(failure(), HasSubstr("the program that sums up the data has failed"));
}

TEST_F(HostsTest, WhoseAddressNobodyKnowsIsAskedForAnInterface) {
    addHost("node-a", 1);
    addHost("node-b", 1);
    for (HostRun& host : m_request.hosts) host.interface.clear();
    EXPECT_THAT(failure(), HasSubstr("node-a: the other hosts' way to this one is not known; name "
                                     "its network interface"));
}

/// Greets, then says whatever a test wants said.
int liar(FrameChannel recorder, const std::function<void(FrameChannel&)>& lie) {
    run::AgentHello hello;
    hello.protocol = run::kProtocolVersion;
    hello.product = "a liar";
    recorder.send(run::kNoRank, hello);
    lie(recorder);
    for (int turn = 0; turn < 2000 && recorder.isOpen(); ++turn) {
        recorder.flush();
        std::vector<run::Frame> frames;
        static_cast<void>(recorder.receive(frames));
        ::poll(nullptr, 0, 5);
    }
    return 0;
}

TEST_F(HostsTest, AHostThatIsNotReachedIsNamed) {
    addHost("node-a", 1);
    addHost("node-b", 1, [](FrameChannel recorder) {
        return liar(std::move(recorder), [](FrameChannel& channel) {
            std::vector<run::Frame> frames;
            const auto asked = [&] {
                for (const run::Frame& frame : frames)
                    if (std::holds_alternative<run::PrepareRequest>(*run::decode(frame.text())))
                        return true;
                return false;
            };
            while (channel.isOpen() && !asked()) {
                static_cast<void>(channel.receive(frames));
                channel.flush();
                ::poll(nullptr, 0, 5);
            }
            // Nobody listens on port 1 of this address.
            channel.send(run::kNoRank, run::HostPrepared{"127.0.0.1", 0, 1, {}});
            channel.send(run::kNoRank, run::PeersChecked{});
        });
    });
    EXPECT_THAT(failure(), HasSubstr("node-a does not reach node-b at 127.0.0.1 port 1: Connection "
                                     "refused. Name interfaces"));
}

TEST_F(HostsTest, AnAgentSpeaksForItsOwnRanksOnly) {
    addHost("node-a", 1);
    addHost("node-b", 1, [](FrameChannel recorder) {
        return liar(std::move(recorder), [](FrameChannel& channel) {
            channel.send(RankId{0}, run::RankFinished{1, 0, false});
        });
    });
    EXPECT_THAT(failure(),
                HasSubstr("the agent on node-b was lost: it spoke for rank 0, which is not there"));
    EXPECT_EQ(m_words.finished, 0);
}

TEST_F(HostsTest, StopBeforeRanksHaveStartedStartsNone) {
    addHost("node-a", 1, [](FrameChannel recorder) {
        return liar(std::move(recorder), [](FrameChannel&) {});  // tells no time
    });
    addHost("node-b", 1);
    m_request.launch.config.steps = 4;
    RunSupervisor supervisor(std::move(m_request), m_words);
    supervisor.requestStop();
    const RunOutcome outcome = supervisor.run();
    EXPECT_FALSE(outcome.failure);
    EXPECT_TRUE(outcome.stopped);
    EXPECT_TRUE(m_words.pids.empty());
}

/// Frames go on to the recorder at so many bytes a second.
void relaySlowly(FrameChannel& agent, FrameChannel& recorder, double rate) {
    while (agent.isOpen() && recorder.isOpen()) {
        std::vector<run::Frame> up, down;
        static_cast<void>(recorder.receive(down));
        for (const run::Frame& frame : down) agent.send(frame);
        static_cast<void>(agent.receive(up));
        std::size_t bytes = 0;
        for (const run::Frame& frame : up) {
            recorder.send(frame);
            bytes += frame.payload.size() + run::kFrameHeaderBytes;
        }
        agent.flush();
        recorder.flush();
        ::poll(nullptr, 0, 1 + static_cast<int>(1000 * static_cast<double>(bytes) / rate));
    }
    while (recorder.isOpen() && recorder.pendingBytes() > 0) recorder.flush();
}

class SlowLink : public HostsTest {
protected:
    static constexpr int kSteps = 40, kCopies = 200;

    void SetUp() override {
        ::setenv("FAKE_RANK_CHUNKS", std::to_string(kCopies).c_str(), 1);
        addHost("far", 2, [folder = m_folder.file("")](FrameChannel recorder) {
            auto ends = socketPair().value();
            if (const pid_t child = ::fork(); child == 0) {
                ends.first.reset();
                recorder.close();
                AgentTimes times;
                times.spillFolder = folder;
                times.heldInMemory = 100'000;
                ::_exit(Agent(FrameChannel(std::move(ends.second)), "far agent", times).run());
            }
            ends.second.reset();
            FrameChannel agent(std::move(ends.first));
            relaySlowly(agent, recorder, 1e6);
            return 0;
        });
        m_request.launch.config.steps = kSteps;
        m_request.launch.config.threads = 1;
    }
    void TearDown() override { ::unsetenv("FAKE_RANK_CHUNKS"); }
    test::TemporaryFolder m_folder;
};

TEST_F(SlowLink, StepsOvertakeEventsAndNothingIsLost) {
    int chunksAtLastStep = 0;
    m_words.onMessage = [&] {
        if (m_words.steps == 2 * kSteps && chunksAtLastStep == 0) chunksAtLastStep = m_words.chunks;
    };
    RunSupervisor supervisor(std::move(m_request), m_words);
    const RunOutcome outcome = supervisor.run();
    EXPECT_FALSE(outcome.failure) << outcome.failure->message;
    constexpr int kAll = 2 * kSteps * (kCopies + 1);
    EXPECT_EQ(m_words.chunks, kAll);
    EXPECT_LT(chunksAtLastStep, kAll);
    EXPECT_GT(m_words.mostOnDisk, 0);
    EXPECT_EQ(m_words.lastHeld.bytes, 0);
    EXPECT_EQ(m_words.lastHeld.givenUp, 0);
}

TEST_F(SlowLink, KillingTheRunGivesUpWhatIsHeld) {
    RunSupervisor supervisor(std::move(m_request), m_words);
    m_words.onBacklog = [&, asked = false]() mutable {
        if (!std::exchange(asked, true)) supervisor.requestKill();
    };
    const RunOutcome outcome = supervisor.run();
    EXPECT_TRUE(outcome.killed);
    EXPECT_GT(m_words.lastHeld.givenUp, 0);
    EXPECT_EQ(m_words.lastHeld.bytes, 0);
}

/// Tells the time until its rank has ended, as it says at once, and never again.
int agentWithoutALastAnswer(FrameChannel recorder, bool closes) {
    return liar(std::move(recorder), [closes](FrameChannel& channel) {
        for (bool launched = false; channel.isOpen() && !launched; ::poll(nullptr, 0, 5)) {
            std::vector<run::Frame> frames;
            static_cast<void>(channel.receive(frames));
            for (const run::Frame& frame : frames) {
                const auto message = run::decode(frame.text());
                if (const auto* asked = std::get_if<run::ClockAsked>(&*message))
                    channel.send(run::kNoRank, run::ClockAnswer{asked->sentNs, 5, 6});
                launched = launched || std::holds_alternative<run::LaunchRequest>(*message);
            }
            channel.flush();
        }
        channel.send(RankId{0}, run::RankFinished{1, 0, false});
        channel.send(RankId{0}, run::RankExited{0, 0, std::nullopt, ""});
        channel.send(run::kNoRank, run::AgentDone{});
        channel.flush();
        if (closes) channel.close();
    });
}

TEST_F(HostsTest, NobodyNeedsTheLastAnswerOfAClock) {
    for (const bool closes : {true, false}) {
        m_request = {};
        addHost("node-a", 1, [closes](FrameChannel recorder) {
            return agentWithoutALastAnswer(std::move(recorder), closes);
        });
        const RunOutcome outcome = run();
        EXPECT_FALSE(outcome.failure) << outcome.failure->message;
        EXPECT_FALSE(outcome.stopped);
    }
    EXPECT_EQ(m_words.finished, 2);
}

TEST_F(HostsTest, SilenceBeyondTheLeaseIsTheEnd) {
    addHost("node-a", 1,
            [](FrameChannel recorder) { return liar(std::move(recorder), [](FrameChannel&) {}); });
    m_request.lease = 300ms;
    EXPECT_THAT(failure(), HasSubstr("the agent on node-a was lost: nothing was heard from it for "
                                     "1 s"));
}

}  // namespace
}  // namespace shardscope::launch
