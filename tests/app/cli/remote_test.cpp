// Runs on hosts that are reached through ssh: a real server on loopback, two names for it, ranks
// without an engine.
#include "engine/launch/ssh/host_look.h"
#include "storage/model/host_clock.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"
#include "tests/engine/launch/ssh/ssh_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Remote : public CliTest {
protected:
    void SetUp() override {
        if (const std::string missing = launch::SshServer::missing(); !missing.empty())
            GTEST_SKIP() << missing;
        m_server.emplace();
        // A rank is what lies beside the program.
        fs::create_directories(path("bin"));
        fs::copy_file(Program::built(), path("bin/shardscope"));
        fs::copy_file(environment.at("SHARDSCOPE_RANK_PROGRAM"), path("bin/shardscope-rank"));
        programPath = path("bin/shardscope");
        const fs::path torch = fs::path(m_server->home()) / ".cache/shardscope" /
                               (std::string("libtorch-") + launch::libTorchVersion()) / "torch/lib";
        fs::create_directories(torch);
        std::ofstream(torch / "libtorch_cpu.so") << "found, and not loaded by a fake rank";
        environment["XDG_CACHE_HOME"] = path("cache");
        environment["XDG_RUNTIME_DIR"] = path("runtime");
        fs::create_directories(path("runtime"));
        fs::permissions(path("runtime"), fs::perms::owner_all);
    }
    /// What ranks on the hosts find in their environment besides.
    void setThere(const std::string& exports) {
        m_server->setLogin("export " + exports + "; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
    }
    std::vector<std::string> onHosts(const std::string& hosts,
                                     const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments = {"--hosts", hosts, "--ssh-command",
                                              "ssh -F " + m_server->clientConfiguration()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return recordArguments(arguments);
    }
    /// A long run of two ranks on each of two hosts, all of it alive.
    void startLong() {
        setThere("FAKE_RANK_STEP_MS=5");
        m_run =
            start(onHosts("node1:2,node2:2", {"--control", "stdio", "--steps", "1000000"}), true);
        ASSERT_TRUE(eventually([this] {
            return m_run->out().find("\"event\":\"step\"") != std::string::npos || m_run->ended();
        })) << m_run->out();
        ASSERT_FALSE(m_run->ended()) << m_run->out() << m_run->err();
        findRanks();
        ASSERT_EQ(m_ranks.size(), 4u);
        for (const pid_t pid : m_ranks) ASSERT_TRUE(isAlive(pid)) << "alive before";
    }
    void expectRanksGone() const {
        EXPECT_TRUE(eventually([this] {
            for (const pid_t pid : m_ranks)
                if (isAlive(pid)) return false;
            return true;
        })) << "gone after";
    }

    std::optional<launch::SshServer> m_server;
    std::unique_ptr<Program> m_run;
    std::set<pid_t> m_ranks;

private:
    void findRanks() {
        const std::string out = m_run->out();
        for (std::size_t at = 0; (at = out.find("\"pid\":", at)) != std::string::npos; ++at)
            m_ranks.insert(static_cast<pid_t>(std::stol(out.substr(at + 6))));
    }
};

TEST_F(Remote, RanksOfTwoHostsAreRecordedWithTheirHosts) {
    const auto run = start(onHosts("node1:2,node2:1"));
    ASSERT_EQ(run->wait(), 0) << run->err();
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kFinished);
    EXPECT_EQ(summary.run.worldSize, 3);
    ASSERT_EQ(summary.hosts.size(), 2u);
    EXPECT_GT(summary.hosts[1].clockErrorNs, 0);
    ASSERT_EQ(summary.ranks.size(), 3u);
    EXPECT_EQ(summary.ranks.at(1).host, 0);
    EXPECT_EQ(summary.ranks.at(2).host, 1);
    EXPECT_THAT(run->err(), HasSubstr("on 3 ranks on 2 hosts for 5 steps"));
    EXPECT_THAT(run->err(), HasSubstr("node1: sending the program"));
}

TEST_F(Remote, DataThatDiffersBetweenHostsIsNamedBeforeARankStarts) {
    std::ofstream(path("other.txt")) << "another text than that of the other host\n";
    const auto run = start(onHosts("node1 slots=1; node2 slots=1 data=" + path("other.txt")));
    EXPECT_EQ(run->wait(), exitStatus({ErrorCode::kUnreadable, ""})) << run->err();
    EXPECT_THAT(run->err(),
                HasSubstr("other.txt on node2 is not what " + path("text.txt") + " is on node1"));
    EXPECT_TRUE(recorded().steps.empty());
}

TEST_F(Remote, DataOfOneFileMayBeCalledSomethingElseThere) {
    fs::copy_file(path("text.txt"), path("corpus.txt"));
    const auto run = start(onHosts("node1 slots=1; node2 slots=1 data=" + path("corpus.txt")));
    EXPECT_EQ(run->wait(), 0) << run->err();
}

TEST_F(Remote, DataIsSentOnceAndFoundByRanks) {
    const auto files = [&] {
        std::vector<std::string> found;
        for (const auto& each :
             fs::recursive_directory_iterator(fs::path(m_server->home()) / ".cache/shardscope"))
            if (each.path().string().find("/sent-") != std::string::npos && each.is_regular_file())
                found.push_back(each.path().filename().string());
        return found;
    };
    const auto first = start(onHosts("node1:1,node2:1", {"--send-data"}));
    ASSERT_EQ(first->wait(), 0) << first->err();
    EXPECT_THAT(files(), testing::IsSupersetOf({"text.txt", "SHA256SUMS"}));
    EXPECT_THAT(first->err(), HasSubstr("sending the data"));
    EXPECT_THAT(first->err(), HasSubstr("rank 1: the data is there"));
    const auto second = start(onHosts("node1:1,node2:1", {"--send-data", "--force"}));
    ASSERT_EQ(second->wait(), 0) << second->err();
    EXPECT_THAT(second->err(), Not(HasSubstr("sending")));
}

TEST_F(Remote, DataThatSomebodyChangedThereIsSentAgainToOneHostToo) {
    const std::vector<std::string> words = onHosts("node1:2", {"--send-data", "--force"});
    ASSERT_EQ(start(words)->wait(), 0);
    std::string there;
    for (const auto& each :
         fs::recursive_directory_iterator(fs::path(m_server->home()) / ".cache/shardscope"))
        if (each.path().filename() == "text.txt") there = each.path().string();
    const auto size = fs::file_size(there);
    std::ofstream(there) << "another text";
    const auto run = start(words);
    ASSERT_EQ(run->wait(), 0) << run->err();
    EXPECT_THAT(run->err(), HasSubstr("node1: sending the data again: it was changed there"));
    EXPECT_EQ(fs::file_size(there), size);
    const auto third = start(words);
    ASSERT_EQ(third->wait(), 0) << third->err();
    EXPECT_THAT(third->err(), Not(HasSubstr("sending")));
}

TEST_F(Remote, LibTorchIsFetchedThereWhereItLacks) {
    // What a real one does is tests/engine/launch/ssh's; here the programs beside this one are
    // sent.
    const fs::path torch = fs::path(m_server->home()) / ".cache/shardscope" /
                           (std::string("libtorch-") + launch::libTorchVersion());
    fs::remove_all(torch);
    fs::create_directories(path("bin/share"));
    std::ofstream(path("bin/share/fetch-libtorch"))
        << "case $* in *--check*) exit 0;; esac\necho unpacking it\nmkdir -p " << torch.string()
        << "/torch/lib\necho x >" << torch.string() << "/torch/lib/libtorch_cpu.so\n";
    std::ofstream(path("bin/share/dependencies.env")) << "LIBTORCH_DISK_MB=1\n";
    const std::string ssh = "ssh -F " + m_server->clientConfiguration();
    const auto look = start({"doctor", "--hosts", "node1", "--ssh-command", ssh, "--json"});
    EXPECT_EQ(look->wait(), 4);
    EXPECT_THAT(look->out(), testing::AllOf(HasSubstr("\"libtorch_fetched_by_a_run\": true"),
                                            HasSubstr("a run fetches it there"),
                                            HasSubstr(ssh + " node1 python3")));
    EXPECT_FALSE(fs::exists(torch));
    const auto run = start(onHosts("node1:1"));
    ASSERT_EQ(run->wait(), 0) << run->err();
    EXPECT_THAT(run->err(), HasSubstr("node1: fetching LibTorch"));
}

TEST_F(Remote, DataMayLieInAnotherFolderThere) {
    fs::create_directories(path("there"));
    fs::copy_file(path("text.txt"), path("there/text.txt"));
    const auto run =
        start(onHosts("localhost:1,node2:1", {"--data-root", path("there"), "--interface", "lo"}));
    ASSERT_EQ(run->wait(), 0) << run->err();
    fs::remove(path("there/text.txt"));
    const auto none = start(onHosts(
        "localhost:1,node2:1", {"--data-root", path("there"), "--interface", "lo", "--force"}));
    EXPECT_EQ(none->wait(), exitStatus({ErrorCode::kUnreadable, ""}));
    EXPECT_THAT(none->err(), HasSubstr("node2: "));
    EXPECT_THAT(none->err(), HasSubstr("there/text.txt does not exist"));
}

/// The clock of node1 is 3,000 s ahead, gains 100 ppm, and loses half a second while ranks run.
TEST_F(Remote, TimesOfAHostWhoseClockIsNotOursAreTheRecorders) {
    const std::int64_t now = hostNow();
    setThere(
        fmt::format("FAKE_RANK_STEP_MS=10 LD_PRELOAD={} SKEW_AHEAD_NS=3000000000000 "
                    "SKEW_DRIFT_PPB=100000 SKEW_SINCE_NS={} SKEW_SET_NS=-500000000 "
                    "SKEW_SET_AT_NS={}",
                    SHARDSCOPE_SKEWED_CLOCK, now, now + 9'000'000'000));
    const auto run = start(onHosts("localhost:1,node1:1", {"--steps", "1300"}));
    ASSERT_EQ(run->wait(), 0) << run->err();
    const RecordingSummary summary = recorded();
    ASSERT_EQ(summary.hosts.size(), 2u);
    ASSERT_GE(summary.clocks.size(), 4u);
    std::int64_t stepped = 0;
    for (const ClockFacts& clock : summary.clocks) {
        EXPECT_EQ(clock.host, 1) << "the recorder's own is not compared";
        stepped += clock.stepped ? 1 : 0;
    }
    EXPECT_EQ(stepped, 1);
    const auto said = std::find_if(summary.diagnostics.begin(), summary.diagnostics.end(),
                                   [](const auto& each) { return each.code == "clock-stepped"; });
    ASSERT_NE(said, summary.diagnostics.end());
    EXPECT_THAT(said->message, HasSubstr("the clock of node1 lost 0."));
    EXPECT_THAT(run->err(), HasSubstr("the clock of node1 lost 0."));
    Timestamp last{};
    for (const StepFacts& step : summary.steps) {
        if (step.rank != RankId{1}) continue;
        EXPECT_GE(step.start, last);
        EXPECT_LT(step.end, summary.run.ended);
        last = step.start;
    }
    const auto report = start({"report", output()});
    EXPECT_EQ(report->wait(), 0);
    EXPECT_THAT(report->out(), HasSubstr("Clocks of the hosts"));
    EXPECT_THAT(report->out(), HasSubstr("the recorder's own"));
    EXPECT_THAT(report->out(), HasSubstr(", set once"));
    const auto info = start({"info", output(), "--json"});
    EXPECT_EQ(info->wait(), 0);
    EXPECT_THAT(info->out(), HasSubstr("\"clock_steps\": 1"));
}

TEST_F(Remote, AHostFileSaysTheSameAndNothingIsSentTwice) {
    ASSERT_EQ(start(onHosts("node1"))->wait(), 0);
    std::ofstream(path("hosts")) << "node1 slots=1 # one\nnode2 slots=2\nnode3 slots=1\n";
    const auto run = start(onHosts(path("hosts"), {"--exclude", "node3", "--force"}));
    ASSERT_EQ(run->wait(), 0) << run->err();
    EXPECT_EQ(recorded().run.worldSize, 3);
    EXPECT_THAT(run->err(), Not(HasSubstr("sending")));
}

TEST_F(Remote, WhatIsPassedOnOfTheEnvironmentIsRecorded) {
    environment["GLOO_NOTE_OF_A_TEST"] = "passed";
    environment["NOTE_OF_A_TEST"] = "kept";
    const auto run = start(onHosts("node1:1"));
    ASSERT_EQ(run->wait(), 0) << run->err();
    const std::string stored = recorded().run.environmentJson;
    EXPECT_THAT(stored, HasSubstr("\"GLOO_NOTE_OF_A_TEST\":\"passed\""));
    EXPECT_THAT(stored, Not(HasSubstr("kept")));
}

TEST_F(Remote, AnEmptyHostFileSaysThatItNamesNoHost) {
    std::ofstream(path("hosts")) << "";
    const auto run = start(onHosts(path("hosts")));
    EXPECT_EQ(run->wait(), 2);
    EXPECT_THAT(run->err(), HasSubstr("names no host"));
}

TEST_F(Remote, StopsInOrderAndLeavesNothing) {
    startLong();
    EXPECT_EQ(start({"control", output(), "stop"})->wait(), 0);
    EXPECT_EQ(m_run->wait(), 130);
    expectRanksGone();
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
}

TEST_F(Remote, AKilledRecorderLeavesNoRank) {
    startLong();
    m_run->signal(SIGKILL);
    m_run->wait();
    expectRanksGone();
    EXPECT_EQ(recorded().run.worldSize, 4);
}

TEST_F(Remote, AKilledSshIsALostHostThatIsNamed) {
    startLong();
    const auto children = childrenOf(m_run->pid());
    ASSERT_EQ(children.size(), 4u) << "a master and a session for each host";
    for (const pid_t pid : children)
        if (commandOf(pid).find("node2") != std::string::npos) ::kill(pid, SIGKILL);
    EXPECT_EQ(m_run->wait(), 4);
    expectRanksGone();
    EXPECT_THAT(m_run->out(), HasSubstr("the agent on node2 was lost"));
    EXPECT_EQ(recorded().run.status, RunStatus::kFailed);
}

TEST_F(Remote, ARunThatLosesAHostGoesOnWithoutIt) {
    setThere("FAKE_RANK_STEP_MS=5");
    m_run =
        start(onHosts("node1:2,node2:2", {"--control", "stdio", "--steps", "1000000",
                                          "--checkpoint", path("checkpoints"), "--restart", "1"}),
              true);
    const auto steps = [this](std::size_t from) {
        return m_run->out().find("\"event\":\"step\"", from) != std::string::npos;
    };
    ASSERT_TRUE(eventually([&] { return steps(0); })) << m_run->out();
    for (const pid_t pid : childrenOf(m_run->pid()))
        if (commandOf(pid).find("node2") != std::string::npos) ::kill(pid, SIGKILL);
    std::size_t again = std::string::npos;
    ASSERT_TRUE(eventually([&] {
        again = m_run->out().find("the run goes on without it, on 2 of 4 ranks");
        return again != std::string::npos && steps(again);
    })) << m_run->out();
    EXPECT_EQ(start({"control", path("run-restart1.sscope"), "stop"})->wait(), 0);
    EXPECT_EQ(m_run->wait(), exitStatus({ErrorCode::kInterrupted, ""}));

    const RecordingSummary first = recorded();
    EXPECT_EQ(first.run.status, RunStatus::kFailed);
    EXPECT_EQ(first.diagnostics.back().code, "host-lost");
    EXPECT_THAT(first.diagnostics.back().message, HasSubstr("node2"));
    auto reader = storage::openRecording(path("run-restart1.sscope"));
    ASSERT_TRUE(reader);
    const auto second = (*reader)->summary();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->run.status, RunStatus::kStopped);
    EXPECT_EQ(second->run.worldSize, 2);
    ASSERT_EQ(second->hosts.size(), 1u);
    EXPECT_EQ(second->hosts[0].name, "node1");
    EXPECT_EQ(second->diagnostics.front().code, "restarted");
}

/// All processes of the run, on whichever host: by the folders that they were started from.
std::vector<pid_t> processesFrom(const std::vector<std::string>& folders) {
    std::vector<pid_t> found;
    std::error_code ended;
    for (const auto& each : fs::directory_iterator("/proc", ended)) {
        const std::string name = each.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto pid = static_cast<pid_t>(std::stol(name));
        const std::string command = commandOf(pid);
        for (const std::string& folder : folders)
            if (command.starts_with(folder) && isAlive(pid)) found.push_back(pid);
    }
    return found;
}

/// Any process of a run at any moment: nothing of it is left, and the recording opens.
TEST_F(Remote, WhateverIsKilledNothingIsLeftAndTheRecordingOpens) {
    const char* wanted = std::getenv("SHARDSCOPE_KILL_ROUNDS");
    const int rounds = wanted != nullptr ? std::atoi(wanted) : 4;
    std::mt19937 random(std::random_device{}());
    const std::vector<std::string> folders = {path("bin"), m_server->home() + "/.cache"};
    for (int round = 0; round < rounds; ++round) {
        m_ranks.clear();
        setThere("FAKE_RANK_STEP_MS=5");
        m_run = start(
            onHosts("node1:2,node2:2", {"--control", "stdio", "--steps", "1000000", "--force"}),
            true);
        ASSERT_TRUE(eventually([this] {
            return m_run->out().find("\"event\":\"step\"") != std::string::npos || m_run->ended();
        })) << m_run->out();
        ::usleep(static_cast<useconds_t>(random() % 300'000));
        std::vector<pid_t> all = processesFrom(folders);
        for (const pid_t pid : childrenOf(m_run->pid())) all.push_back(pid);
        ASSERT_GE(all.size(), 11u) << "recorder, 4 of ssh, 2 agents, 4 ranks";
        const pid_t victim = all[random() % all.size()];
        std::string command = commandOf(victim).substr(0, 200);
        std::replace(command.begin(), command.end(), '\0', ' ');
        SCOPED_TRACE("round " + std::to_string(round) + ": killed " + command);
        ::kill(victim, SIGKILL);
        EXPECT_NE(m_run->wait(), 0);
        EXPECT_TRUE(eventually([&] { return processesFrom(folders).empty(); }));
        // A killed recorder has the last half second not in the file yet.
        const bool written = !recorded().steps.empty();
        EXPECT_TRUE(written || victim == m_run->pid());
    }
}

TEST_F(Remote, AFailingRankIsNamedWithItsHost) {
    setThere("FAKE_RANK_MODE=exit FAKE_RANK_WHO=2");
    const auto run = start(onHosts("node1:2,node2:2"));
    EXPECT_EQ(run->wait(), 5);
    EXPECT_THAT(run->err(), HasSubstr("rank 2 on node2"));
}

TEST_F(Remote, AllHostsThatCannotBeHadAreNamedAndNothingIsRecorded) {
    const auto run = start(onHosts("node1:1,unknown:1,wrong:1"));
    EXPECT_EQ(run->wait(), 4);
    EXPECT_THAT(run->err(), HasSubstr(m_server->fingerprint()));
    EXPECT_THAT(run->err(), HasSubstr("wrong"));
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(Remote, DoctorSaysWhatHostsHaveAndLack) {
    const std::string ssh = "ssh -F " + m_server->clientConfiguration();
    const auto good = start({"doctor", "--hosts", "node1,node2", "--ssh-command", ssh});
    EXPECT_EQ(good->wait(), 0) << good->out() << good->err();
    EXPECT_THAT(good->out(), HasSubstr("node2"));
    EXPECT_THAT(good->out(), HasSubstr(launch::libTorchVersion()));
    const auto file =
        start({"doctor", "--hosts", "node1 folder=/proc/nothing", "--ssh-command", ssh});
    EXPECT_EQ(file->wait(), 4);
    EXPECT_THAT(file->out(), HasSubstr("nothing can be put into /proc/nothing on node1"));
    EXPECT_THAT(file->out(), Not(HasSubstr("has no LibTorch")));
    const auto bad = start({"doctor", "--hosts", "node1,changed", "--ssh-command", ssh, "--json"});
    EXPECT_EQ(bad->wait(), 4);
    EXPECT_THAT(bad->out(), HasSubstr("shardscope.doctor-hosts/1"));
    EXPECT_THAT(bad->out(), HasSubstr("\"reached\": false"));
}

TEST_F(Remote, ADamagedProgramThereIsSaidAndSentAgain) {
    ASSERT_EQ(start(onHosts("node1:1"))->wait(), 0);
    fs::path program;
    for (const auto& each :
         fs::recursive_directory_iterator(fs::path(m_server->home()) / ".cache/shardscope"))
        if (each.path().filename() == "shardscope-rank") program = each.path();
    ASSERT_FALSE(program.empty());
    fs::resize_file(program, fs::file_size(program) - 1);
    const std::string ssh = "ssh -F " + m_server->clientConfiguration();
    const std::vector<std::string> doctor{"doctor", "--hosts", "node1", "--ssh-command", ssh};
    const auto said = start(doctor);
    EXPECT_EQ(said->wait(), 0) << said->err();
    EXPECT_THAT(said->out(), HasSubstr("is damaged or incomplete; the next run sends it again"));
    std::vector<std::string> document = doctor;
    document.emplace_back("--json");
    const auto json = start(document);
    EXPECT_EQ(json->wait(), 0) << json->err();
    EXPECT_THAT(json->out(), HasSubstr("\"program_damaged\": true"));
    fs::remove(output());
    const auto mended = start(onHosts("node1:1"));
    EXPECT_EQ(mended->wait(), 0) << mended->err();
    EXPECT_THAT(mended->err(), HasSubstr("node1: sending the program again: what is there is "
                                         "damaged or incomplete"));
    const auto good = start(doctor);
    EXPECT_EQ(good->wait(), 0);
    EXPECT_THAT(good->out(), HasSubstr("node1: this program is in "));
}

TEST_F(Remote, AnUnknownKeyIsAcceptedByItsFingerprintOnly) {
    const std::string ssh = "ssh -F " + m_server->clientConfiguration();
    const auto look = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"doctor", "--hosts",       "unknown",
                                          "--json", "--ssh-command", ssh};
        words.insert(words.end(), more.begin(), more.end());
        auto program = start(words);
        program->wait();
        return program->out();
    };
    const std::string fingerprint = m_server->fingerprint();
    const std::string key = fingerprint.substr(fingerprint.find("SHA256:"));
    EXPECT_THAT(look({}), HasSubstr("\"unknown_key\": \"" + key + "\""));
    EXPECT_THAT(look({"--accept-key", "SHA256:0000000000000000000000000000000000000000000"}),
                testing::AllOf(HasSubstr("\"reached\": false"),
                               HasSubstr("not the one given by --accept-key")));
    EXPECT_THAT(look({"--accept-key", "yes"}), Not(HasSubstr("hosts")));
    EXPECT_THAT(look({"--accept-key", key}), HasSubstr("\"reached\": true"));
    EXPECT_THAT(look({}), HasSubstr("\"reached\": true")) << "ssh has kept it";
}

TEST_F(Remote, InterruptedWhileConnectingStartsNothing) {
    m_server->setLogin("sleep 600");
    const auto run = start(onHosts("node1:1"));
    ASSERT_TRUE(eventually([&] { return run->err().find("looking") != std::string::npos; }));
    run->signal(SIGINT);
    EXPECT_EQ(run->wait(), 130);
    EXPECT_THAT(run->err(), HasSubstr("interrupted; no rank was started"));
    EXPECT_FALSE(fs::exists(output()));
}

}  // namespace
}  // namespace shardscope::cli
