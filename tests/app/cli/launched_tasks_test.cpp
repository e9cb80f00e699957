// Runs whose tasks a launcher has started: its variables are set as it sets them, and the tasks are
// processes of this machine. Ranks without an engine.
#include "app/cli/version.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/network/network_interface.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string>;
constexpr const char* kToken = "kept to themselves";

std::int32_t freePort() {
    const auto listener = network::listenOn("127.0.0.1").value();
    ::close(listener.fd);
    return listener.port;
}

/// Processors that it may run on.
std::set<int> processorsOf(pid_t pid) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::set<int> found;
    if (::sched_getaffinity(pid, sizeof allowed, &allowed) != 0) return found;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
        if (CPU_ISSET(processor, &allowed)) found.insert(processor);
    return found;
}

void bindTo(const std::set<int>& processors) {
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    for (const int processor : processors) CPU_SET(processor, &chosen);
    ASSERT_EQ(::sched_setaffinity(0, sizeof chosen, &chosen), 0);
}

class LaunchedTasks : public CliTest {
protected:
    LaunchedTasks() {
        environment["XDG_RUNTIME_DIR"] = path("");
        fs::permissions(path(""), fs::perms::owner_all);
    }

    /// As `torchrun --nnodes HOSTS --nproc-per-node EACH` sets them, and the token that its user
    /// has.
    Variables torchrun(int rank, int hosts, int each) const {
        return {{"RANK", std::to_string(rank)},
                {"WORLD_SIZE", std::to_string(hosts * each)},
                {"LOCAL_RANK", std::to_string(rank % each)},
                {"LOCAL_WORLD_SIZE", std::to_string(each)},
                {"GROUP_RANK", std::to_string(rank / each)},
                {"GROUP_WORLD_SIZE", std::to_string(hosts)},
                {"MASTER_ADDR", "127.0.0.1"},
                {"MASTER_PORT", std::to_string(m_port)},
                {"TORCHELASTIC_RUN_ID", "none"},
                {"TORCHELASTIC_RESTART_COUNT", "0"},
                {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                {"OMP_NUM_THREADS", "1"},
                {"SHARDSCOPE_TASK_TOKEN", kToken}};
    }
    /// A plain environment, where rank 0's host has this address and there is no token.
    Variables plain(int rank, const std::string& address = "127.0.0.1") const {
        return {{"RANK", std::to_string(rank)},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", address},
                {"MASTER_PORT", std::to_string(m_port)}};
    }
    /// As `mpirun -np SIZE` on one host sets them.
    Variables mpirun(int rank, int size) const {
        return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
                {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank)},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size)},
                {"PMIX_NAMESPACE", std::to_string(::getpid()) + path("")}};
    }
    void startTask(const Variables& variables, const std::vector<std::string>& arguments) {
        Variables all = environment;
        for (const auto& [name, value] : variables) all[name] = value;
        const std::string folder = path("task" + std::to_string(m_tasks.size()));
        fs::create_directories(folder);
        m_tasks.push_back(
            std::make_unique<Program>(recordArguments(arguments), all, folder, false));
    }
    /// All tasks of a run on `hosts` hosts.
    void startAll(int hosts, int each, const std::vector<std::string>& arguments = {}) {
        for (int rank = 0; rank < hosts * each; ++rank)
            startTask(torchrun(rank, hosts, each), arguments);
    }
    Program& task(std::size_t rank) { return *m_tasks[rank]; }
    void expectAllEndWith(int status) {
        for (std::size_t i = 0; i < m_tasks.size(); ++i)
            EXPECT_EQ(task(i).wait(), status) << "task " << i << ": " << task(i).err();
    }
    /// A long run of 2 hosts of 2 ranks; all of it is alive.
    void startLong() {
        environment["FAKE_RANK_STEP_MS"] = "5";
        startAll(2, 2, {"--steps", "1000000"});
        ASSERT_TRUE(eventually([this] {
            return task(0).err().find(" steps  ") != std::string::npos || task(0).ended();
        })) << task(0).err();
        for (const auto& each : m_tasks) ASSERT_FALSE(each->ended()) << each->err();
        for (const std::size_t leader : {0u, 2u})
            for (const pid_t agent : childrenOf(task(leader).pid())) {
                m_left.insert(agent);
                for (const pid_t rank : childrenOf(agent)) m_left.insert(rank);
            }
        ASSERT_EQ(m_left.size(), 6u) << "two agents and four ranks";
        for (const pid_t pid : m_left) ASSERT_TRUE(isAlive(pid)) << "alive before";
    }
    bool firstSays(const char* text) {
        return eventually([&] { return task(0).err().find(text) != std::string::npos; });
    }
    void expectNothingIsLeft() const {
        EXPECT_TRUE(eventually([this] {
            for (const pid_t pid : m_left)
                if (isAlive(pid)) return false;
            return true;
        })) << "gone after";
    }

    const std::int32_t m_port = freePort();
    std::vector<std::unique_ptr<Program>> m_tasks;
    std::set<pid_t> m_left;  ///< agents and ranks
};

TEST_F(LaunchedTasks, OfTwoHostsAreRecordedWithTheirHosts) {
    startAll(2, 2);
    expectAllEndWith(0);
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kFinished);
    EXPECT_EQ(summary.run.worldSize, 4);
    ASSERT_EQ(summary.hosts.size(), 2u);
    EXPECT_EQ(summary.hosts[1].name, summary.hosts[0].name + "-2");
    EXPECT_GT(summary.hosts[1].clockErrorNs, 0);
    EXPECT_EQ(summary.ranks.at(1).host, 0);
    EXPECT_EQ(summary.ranks.at(2).host, 1);
    EXPECT_THAT(summary.run.configJson, HasSubstr("-2 slots=2"));
}

TEST_F(LaunchedTasks, OnlyRankZerosSpeaks) {
    startAll(2, 2);
    expectAllEndWith(0);
    EXPECT_THAT(task(0).err(), HasSubstr("torchrun has started 4 tasks on 2 hosts"));
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(task(i).out() + task(i).err(), "");
}

TEST_F(LaunchedTasks, OfOneHostNeedNoAddressAndNoPort) {
    for (int rank = 2; rank >= 0; --rank) startTask(mpirun(rank, 3), {});
    expectAllEndWith(0);
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.worldSize, 3);
    EXPECT_EQ(summary.hosts.size(), 1u);
    EXPECT_THAT(summary.run.configJson, HasSubstr("\"hosts\":\"\""));
}

TEST_F(LaunchedTasks, OneAHostHasTheRanksThatAreAskedFor) {
    startAll(2, 1, {"--ranks", "4"});
    expectAllEndWith(0);
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.worldSize, 4);
    EXPECT_EQ(summary.hosts.size(), 2u);
    EXPECT_EQ(summary.ranks.at(2).host, 1);
}

TEST_F(LaunchedTasks, AllEndWithTheStatusOfTheRun) {
    environment["FAKE_RANK_MODE"] = "exit";
    environment["FAKE_RANK_WHO"] = "3";
    startAll(2, 2);
    expectAllEndWith(5);
    EXPECT_THAT(task(0).err(), HasSubstr("rank 3 on "));
    EXPECT_EQ(recorded().run.status, RunStatus::kFailed);
}

TEST_F(LaunchedTasks, WhatContradictsTheLauncherIsSaidOnceAndEndsAll) {
    startAll(2, 2, {"--ranks", "3"});
    expectAllEndWith(2);
    EXPECT_THAT(task(0).err(), HasSubstr("--ranks 3 does not match the 4 tasks that torchrun"));
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(task(i).err(), "");
    EXPECT_FALSE(fs::exists(output()));
    m_tasks.clear();
    startAll(1, 2, {"--hosts", "node-a:2"});
    expectAllEndWith(2);
    EXPECT_THAT(task(0).err(), HasSubstr("--hosts starts ranks through ssh, and torchrun has"));
}

TEST_F(LaunchedTasks, HostsOfSeveralTasksTakeNoMultiple) {
    startAll(2, 2, {"--ranks", "8"});
    expectAllEndWith(2);
    EXPECT_THAT(task(0).err(), HasSubstr("--ranks 8 does not match the 4 tasks on 2 hosts"));
}

TEST_F(LaunchedTasks, AWrongCommandLineIsSaidBeforeAnyOtherTaskIsThere) {
    startTask(torchrun(0, 2, 2), {"--data", path("nowhere")});
    ASSERT_TRUE(eventually([this] { return !task(0).err().empty(); }));
    EXPECT_THAT(task(0).err(), HasSubstr("nowhere is not there"));
    for (int rank = 1; rank < 4; ++rank) startTask(torchrun(rank, 2, 2), {});
    EXPECT_EQ(task(0).wait(), 3);
    expectAllEndWith(3);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(task(i).err(), "");
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(LaunchedTasks, AStrategyThatNeedsTheHostsIsNotRefusedBeforeTheyAreKnown) {
    startAll(2, 2, {"--strategy", "hsdp"});
    expectAllEndWith(0);
    EXPECT_EQ(recorded().run.worldSize, 4);
}

TEST_F(LaunchedTasks, ATaskThatIsRefusedEndsAndBothSay) {
    startTask(torchrun(0, 2, 1), {});
    Variables other = torchrun(1, 2, 1);
    other["WORLD_SIZE"] = "3";
    startTask(other, {});
    other = torchrun(1, 2, 1);
    other["SHARDSCOPE_TASK_TOKEN"] = "another";
    startTask(other, {});
    EXPECT_EQ(task(1).wait(), 4);
    EXPECT_THAT(task(1).err(), HasSubstr("task 1 counts 3 tasks, and rank 0's 2; start all alike"));
    EXPECT_TRUE(eventually([this] {
        return task(2).err().find("has another secret") != std::string::npos;
    })) << task(2).err();
    EXPECT_FALSE(task(2).ended()) << "whom it has met proves nothing";
    task(2).signal(SIGINT);
    EXPECT_EQ(task(2).wait(), 130);
    EXPECT_FALSE(task(0).ended());
    startTask(torchrun(1, 2, 1), {});
    EXPECT_EQ(task(0).wait(), 0) << task(0).err();
    EXPECT_EQ(task(3).wait(), 0) << task(3).err();
    EXPECT_THAT(task(0).err(), HasSubstr("task 1 counts 3 tasks"));
    EXPECT_THAT(task(0).err(), HasSubstr("task 1 has another secret than rank 0's task"));
}

TEST_F(LaunchedTasks, ARecordingThatIsInTheWayEndsAllBeforeAnyRank) {
    std::ofstream(output()) << "not ours";
    startAll(2, 2);
    const int status = task(0).wait();
    EXPECT_NE(status, 0);
    expectAllEndWith(status);
    EXPECT_THAT(task(0).err(), HasSubstr("run.sscope"));
    EXPECT_THAT(task(0).err(), Not(HasSubstr("rank 0:")));
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(task(i).err(), "");
}

TEST_F(LaunchedTasks, AnEnvironmentThatContradictsItselfIsRefused) {
    Variables variables = torchrun(1, 1, 2);
    variables["LOCAL_RANK"] = "2";
    startTask(variables, {});
    expectAllEndWith(2);
    EXPECT_THAT(task(0).err(), HasSubstr("LOCAL_RANK is 2, and LOCAL_WORLD_SIZE is 2"));
}

TEST_F(LaunchedTasks, NobodysTaskRecordsAlone) {
    startTask(torchrun(1, 1, 2), {"--launched-by", "none", "--ranks", "1"});
    expectAllEndWith(0);
    EXPECT_EQ(recorded().run.worldSize, 1);
}

TEST_F(LaunchedTasks, OfADryRunStartNothing) {
    startAll(1, 2, {"--dry-run"});
    expectAllEndWith(0);
    EXPECT_THAT(task(0).out(), HasSubstr("2 ranks"));
    EXPECT_EQ(task(1).out() + task(1).err(), "");
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(LaunchedTasks, TheTokenIsNotRecorded) {
    startAll(2, 1);
    expectAllEndWith(0);
    EXPECT_THAT(recorded().run.environmentJson, Not(HasSubstr(kToken)));
}

/// Two of the machine's, however many it has.
TEST_F(LaunchedTasks, RanksOfAHostShareTheProcessorsOfItsTasks) {
    const std::set<int> all = processorsOf(::getpid());
    if (all.size() < 2) GTEST_SKIP() << "one processor";
    const std::set<int> two(all.begin(), std::next(all.begin(), 2));
    environment["FAKE_RANK_STEP_MS"] = "60000";
    int rank = 0;
    for (const int processor : two) {
        bindTo({processor});
        startTask(mpirun(rank++, 2), {});
        bindTo(all);
    }
    std::vector<pid_t> ranks;
    ASSERT_TRUE(eventually([&] {
        for (const pid_t agent : childrenOf(task(0).pid())) ranks = childrenOf(agent);
        return ranks.size() == 2;
    })) << task(0).err();
    for (const pid_t pid : ranks) EXPECT_EQ(processorsOf(pid), two);
}

TEST_F(LaunchedTasks, AStopThatAnyTaskIsAskedForEndsTheRunInOrder) {
    startLong();
    task(3).signal(SIGTERM);
    expectAllEndWith(130);
    expectNothingIsLeft();
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
}

TEST_F(LaunchedTasks, ASignalToAllProcessesStopsInOrder) {
    startLong();
    for (const pid_t pid : m_left) ::kill(pid, SIGINT);
    for (const auto& each : m_tasks) each->signal(SIGINT);
    expectAllEndWith(130);
    expectNothingIsLeft();
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
}

TEST_F(LaunchedTasks, TwiceAskedTheRunIsKilled) {
    environment["FAKE_RANK_MODE"] = "hang";
    startLong();
    ASSERT_TRUE(firstSays("rank 1: hangs"));  // before that it would still obey the first
    task(2).signal(SIGTERM);
    ASSERT_TRUE(firstSays("was asked to stop"));
    task(2).signal(SIGTERM);
    expectAllEndWith(130);
    expectNothingIsLeft();
    EXPECT_EQ(recorded().run.status, RunStatus::kKilled);
}

class LostTask : public LaunchedTasks, public testing::WithParamInterface<std::size_t> {};

TEST_P(LostTask, EndsTheRunEverywhere) {
    startLong();
    task(GetParam()).signal(SIGKILL);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(task(i).wait(), i == GetParam() ? 128 + SIGKILL : 4) << i << task(i).err();
    expectNothingIsLeft();
    EXPECT_EQ(recorded().run.worldSize, 4);
    if (GetParam() == 0)
        EXPECT_THAT(task(2).err(), HasSubstr("rank 0's task was lost"));
    else
        EXPECT_THAT(task(0).err(), HasSubstr(fmt::format("task {} on ", GetParam())));
}

// The recorder's, another of its host, the one that leads the other host, another of that.
INSTANTIATE_TEST_SUITE_P(Each, LostTask, testing::Values(0, 1, 2, 3));

TEST_F(LaunchedTasks, OfSeveralHostsWithoutASecretAreRefusedAndToldHow) {
    for (int rank = 0; rank < 2; ++rank) startTask(plain(rank, "192.0.2.7"), {});
    expectAllEndWith(2);
    for (std::size_t rank : {0u, 1u}) {
        EXPECT_THAT(task(rank).err(),
                    HasSubstr("set SHARDSCOPE_TASK_TOKEN to the same random word"));
        EXPECT_THAT(task(rank).err(), HasSubstr("--task-token-file FILE"));
    }
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(LaunchedTasks, ThatLookAtThisHostNeedNoSecretAndMeetByAFile) {
    environment["FAKE_RANK_STEP_MS"] = "5";
    for (int rank = 1; rank >= 0; --rank) startTask(plain(rank), {"--steps", "3"});
    expectAllEndWith(0);
    EXPECT_EQ(recorded().run.worldSize, 2);
    EXPECT_TRUE(fs::is_empty(path("shardscope/tasks"))) << "the file goes with the meeting";
}

TEST_F(LaunchedTasks, AFileOfAKilledRunIsNotInTheWay) {
    startTask(plain(0), {});
    ASSERT_TRUE(eventually([this] {
        return fs::exists(path("shardscope/tasks")) && !fs::is_empty(path("shardscope/tasks"));
    }));
    task(0).signal(SIGKILL);
    EXPECT_EQ(task(0).wait(), 128 + SIGKILL);
    EXPECT_FALSE(fs::is_empty(path("shardscope/tasks")));
    m_tasks.clear();
    for (int rank = 1; rank >= 0; --rank) startTask(plain(rank), {});
    expectAllEndWith(0);
}

TEST_F(LaunchedTasks, ATokenFileThatOthersCanReadIsRefused) {
    const std::string token = path("token");
    std::ofstream(token) << "a token of sixteen letters\n";
    fs::permissions(token, fs::perms::owner_read | fs::perms::group_read);
    startTask(plain(0), {"--task-token-file", token});
    expectAllEndWith(3);
    EXPECT_THAT(task(0).err(), HasSubstr("chmod 600 " + token));
    m_tasks.clear();
    fs::permissions(token, fs::perms::owner_read);
    for (int rank = 0; rank < 2; ++rank) startTask(plain(rank), {"--task-token-file", token});
    expectAllEndWith(0);
}

TEST_F(LaunchedTasks, ATrustedNetworkIsNamedInTheRecording) {
    for (int rank = 0; rank < 2; ++rank) startTask(plain(rank), {"--trust-network"});
    expectAllEndWith(0);
    EXPECT_THAT(task(0).err(), HasSubstr("--trust-network"));
    const auto& diagnostics = recorded().diagnostics;
    EXPECT_TRUE(std::any_of(diagnostics.begin(), diagnostics.end(),
                            [](const Diagnostic& each) { return each.code == "trusted-network"; }));
}

TEST_F(LaunchedTasks, AShortSecretIsWarnedOf) {
    for (int rank = 0; rank < 2; ++rank) {
        Variables variables = torchrun(rank, 2, 1);
        variables["SHARDSCOPE_TASK_TOKEN"] = "secret";
        startTask(variables, {});
    }
    expectAllEndWith(0);
    EXPECT_THAT(task(0).err(), HasSubstr("has 6 characters and may be guessed"));
}

/// Rank 0's task is a stranger's, on a network that the victim trusts: it can do all that a true
/// one can.
class StrangeFirst : public LaunchedTasks {
protected:
    /// Has the victim's agent asked for a run as `change` makes it of the victim's own, and ends
    /// the run as if all were well.
    void attack(const std::function<void(run::LaunchRequest&)>& change) {
        startTask(plain(1), {"--trust-network"});
        launch::TaskPlace place = *launch::taskOf(plain(0)).value();
        place.node = "the stranger's";
        auto meeting = launch::TaskMeeting::open(place, productVersion(), "");
        ASSERT_TRUE(meeting.has_value()) << meeting.error().message;
        const auto goOn = [] { return true; };
        const auto quiet = [](const std::string&) {};
        ASSERT_TRUE(meeting->gather(goOn, quiet, std::chrono::seconds(30)).has_value());
        ASSERT_TRUE(meeting->startAgents(goOn).has_value());
        launch::FrameChannel agent = meeting->takeAgent(1)->takeChannel();
        run::LaunchRequest request;
        request.config.data = path("text.txt");
        request.config.steps = 5;
        request.places = {{1, 1}};
        request.meeting.key = network::drawNonce();
        request.host = 1;
        request.segmentBytes = 1 << 20;
        change(request);
        agent.send(run::kNoRank, request);
        EXPECT_TRUE(eventually([&] {
            agent.flush();
            std::vector<run::Frame> frames;
            static_cast<void>(agent.receive(frames));
            for (const run::Frame& frame : frames) note(frame);
            return m_over;
        }));
        meeting->end(0);  // and keeps the agent's connection
        agent.close();
    }
    void note(const run::Frame& frame) {
        const auto message = run::decode(frame.text());
        if (!message) return;
        if (std::holds_alternative<run::RankStarted>(*message)) ++m_ranks;
        if (const auto* failed = std::get_if<run::RankFailed>(&*message))
            m_refusal = failed->message;
        m_over = m_over || std::holds_alternative<run::AgentDone>(*message);
    }
    /// Refused, said to the victim's user, and not the success that the stranger says.
    void expectRefused(const std::string& what) {
        EXPECT_EQ(m_ranks, 0);
        EXPECT_THAT(m_refusal, HasSubstr(what));
        EXPECT_EQ(task(0).wait(), 4);
        EXPECT_THAT(task(0).err(), HasSubstr("a task's agent refuses " + what));
    }
    const std::string m_marker = path("pwned");
    int m_ranks = 0;
    std::string m_refusal;
    bool m_over = false;
};

TEST_F(StrangeFirst, RunsNoProgramOfItsOwn) {
    attack([this](run::LaunchRequest& request) {
        request.rankProgram = "/usr/bin/ldd";
        request.environment["BASH_ENV"] = "$(touch " + m_marker + ")";
    });
    expectRefused("to run '/usr/bin/ldd'");
    EXPECT_FALSE(fs::exists(m_marker));
}

TEST_F(StrangeFirst, HasNoLibraryLoaded) {
    attack([this](run::LaunchRequest& request) { request.environment["LD_PRELOAD"] = m_marker; });
    expectRefused("the environment variable LD_PRELOAD");
}

TEST_F(StrangeFirst, WritesAndReadsOnlyWhereTheVictimSaid) {
    attack([this](run::LaunchRequest& request) { request.config.checkpoint = m_marker; });
    expectRefused("'" + m_marker + "' as checkpoint");
    EXPECT_FALSE(fs::exists(m_marker));
}

TEST_F(StrangeFirst, KeepsNoneOfTheVictimsCheckpoints) {
    attack([](run::LaunchRequest& request) { request.config.keepCheckpoints = 1; });
    expectRefused("1 as keep_checkpoints");
}

TEST_F(StrangeFirst, StartsNoMoreRanksThanTheRunHas) {
    attack([](run::LaunchRequest& request) { request.places = {{1, 400}}; });
    expectRefused("401 ranks on 2 hosts");
}

TEST_F(StrangeFirst, StartsOnlyTheVictimsOwnRanks) {
    attack([](run::LaunchRequest&) {});
    EXPECT_EQ(m_ranks, 1);
    EXPECT_EQ(m_refusal, "");
    EXPECT_EQ(task(0).wait(), 0) << task(0).err();
}

TEST_F(LaunchedTasks, OfTheRealMpirunAreRecorded) {
    const std::string program = launch::findProgram("mpirun");
    if (program.empty()) GTEST_SKIP() << "mpirun is not there: install openmpi-bin";
    std::vector<std::string> words = {"-np", "3", "--oversubscribe", Program::built()};
    if (::geteuid() == 0) words.insert(words.begin(), "--allow-run-as-root");
    for (const std::string& word : recordArguments()) words.push_back(word);
    environment["TMPDIR"] = "/tmp";
    Program run(words, environment, path(""), false, program);
    EXPECT_EQ(run.wait(), 0) << run.err();
    EXPECT_EQ(recorded().run.worldSize, 3);
    EXPECT_THAT(run.err(), HasSubstr("mpirun has started 3 tasks on 1 host"));
}

}  // namespace
}  // namespace shardscope::cli
