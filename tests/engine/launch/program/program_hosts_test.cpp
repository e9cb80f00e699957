// Parts of a program as they greet, speak and vanish, over sockets of this process; and one part
// with a real program and a recorder that says what a test wants.
#include "engine/launch/program/program_hosts.h"

#include "engine/launch/host_facts.h"
#include "engine/launch/program/far_program.h"
#include "profiler/capture/program_link.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Key;
using testing::Pair;
using testing::SizeIs;

class Sink final : public RunSink {
public:
    void hostReady(const HostFacts& host) override { hosts.push_back(host); }
    void rankIsOn(RankId rank, std::int32_t host) override { hostOf[rank] = host; }
    void message(RankId rank, const run::Message& message) override {
        if (const auto* each = std::get_if<run::DiagnosticRaised>(&message))
            diagnostics.push_back(each->diagnostic);
        else if (const auto* metric = std::get_if<run::MetricReported>(&message))
            metrics.push_back(metric->point.value);
        else
            ++messages[rank];
    }
    void chunk(RankId rank, std::span<const std::byte> bytes) override {
        chunks[rank] += static_cast<std::int64_t>(bytes.size());
    }
    bool keep() override { return ++kept > 0; }
    void tick() override { onTick(); }

    std::function<void()> onTick = [] {};
    std::vector<HostFacts> hosts;
    std::map<RankId, std::int32_t> hostOf;
    std::map<RankId, int> messages;
    std::map<RankId, std::int64_t> chunks;
    std::vector<double> metrics;
    std::vector<Diagnostic> diagnostics;
    int kept = 0;
};

class Transport final : public AgentTransport {
public:
    explicit Transport(FileDescriptor socket) : m_channel(std::move(socket)) {}
    FrameChannel takeChannel() override { return std::move(m_channel); }
    std::string endText() override { return "its end is closed"; }
    void end() override {}

private:
    FrameChannel m_channel;
};

/// One part, as it behaves unless a test wants it otherwise.
class FakePart {
public:
    FakePart(std::string host, std::string boot, std::int64_t aheadNs)
        : m_aheadNs(aheadNs),
          m_sockets(std::move(*socketPair())),
          m_channel(std::move(m_sockets.second)) {
        run::AgentHello hello{run::kProtocolVersion, "test", 7, {}, now(), "10.0.0.9"};
        hello.host.name = std::move(host);
        hello.host.bootId = std::move(boot);
        send(run::kNoRank, hello);
    }
    HostRun run() {
        HostRun made;
        made.start = [this]() -> Result<std::unique_ptr<AgentTransport>> {
            return std::make_unique<Transport>(std::move(m_sockets.first));
        };
        return made;
    }
    /// Its part of a turn.
    void turn() {
        std::vector<run::Frame> frames;
        EXPECT_THAT(m_channel.receive(frames), test::IsOk());
        for (const run::Frame& frame : frames) {
            const auto message = run::decode(frame.text());
            ASSERT_THAT(message, test::IsOk());
            if (const auto* asked = std::get_if<run::ClockAsked>(&*message))
                send(run::kNoRank, run::ClockAnswer{asked->sentNs, now(), now()});
            if (const auto* order = std::get_if<run::Command>(&*message))
                commands.push_back(order->verb);
            if (const auto* each = std::get_if<run::ProgramLaunch>(&*message)) launch = *each;
        }
        m_channel.flush();
    }
    void send(RankId rank, const run::Message& message) {
        m_channel.send(rank, message);
        m_channel.flush();
    }
    void sendChunk(RankId rank) {
        m_channel.send({run::FrameType::kChunk, rank, std::vector<std::byte>(20)});
    }
    void end(std::int32_t code, std::int32_t ranks) {
        if (std::exchange(m_ended, true)) return;
        ProcessFacts process;
        process.pid = 7;
        send(run::kNoRank, run::ProcessesSeen{{process}});
        run::ProgramEnded ended;
        ended.code = code;
        ended.ranks = ranks;
        ended.facts["torch"] = "of " + std::to_string(code);
        send(run::kNoRank, ended);
        send(run::kNoRank, run::AgentDone{});
    }
    void vanish() { m_channel.close(); }

    std::optional<run::ProgramLaunch> launch;
    std::vector<std::string> commands;

private:
    [[nodiscard]] std::int64_t now() const { return hostNow() + m_aheadNs; }

    std::int64_t m_aheadNs;
    std::pair<FileDescriptor, FileDescriptor> m_sockets;
    FrameChannel m_channel;
    bool m_ended = false;
};

constexpr std::int64_t kSecondNs = 1'000'000'000;

class ProgramHostsTest : public testing::Test {
protected:
    ProgramHostsTest() { std::signal(SIGPIPE, SIG_IGN); }

    FakePart& part(const std::string& host, const std::string& boot = hostFacts().bootId,
                   std::int64_t aheadNs = 0) {
        m_parts.push_back(std::make_unique<FakePart>(host, boot, aheadNs));
        return *m_parts.back();
    }
    /// `turn` is called each turn once all are started.
    ProgramOutcome run(std::function<void()> turn, bool tasks = true) {
        ProgramHostsRequest request;
        request.launch.originNs = m_originNs;
        request.launch.command = {"train"};
        for (auto& each : m_parts) request.parts.push_back(each->run());
        request.stall = std::chrono::seconds(5);
        request.tasks = tasks;
        ProgramHosts program(std::move(request), m_sink);
        m_program = &program;
        m_sink.onTick = [this, turn = std::move(turn)] {
            for (auto& each : m_parts) each->turn();
            const bool all = std::all_of(m_parts.begin(), m_parts.end(),
                                         [](const auto& each) { return each->launch.has_value(); });
            if (all) turn();
        };
        return program.run();
    }
    void endAll() {
        for (auto& each : m_parts) each->end(0, 2);
    }

    Sink m_sink;
    std::int64_t m_originNs = hostNow();
    ProgramHosts* m_program = nullptr;
    std::vector<std::unique_ptr<FakePart>> m_parts;
};

TEST_F(ProgramHostsTest, PartsOfOneHostHaveItsClockAndOthersTheirOwn) {
    part("a");
    part("a");
    FakePart& far = part("b", "another boot", 500 * kSecondNs);
    const auto outcome = run([this] { endAll(); });
    EXPECT_EQ(outcome.end.code, 0);
    EXPECT_EQ(outcome.parts, 3);
    EXPECT_EQ(outcome.ranks, 2);
    ASSERT_THAT(m_sink.hosts, SizeIs(2));
    EXPECT_EQ(m_sink.hosts[0].name, "a");
    EXPECT_EQ(m_sink.hosts[0].clockErrorNs, 0);
    EXPECT_EQ(m_parts[1]->launch->originNs, m_originNs);
    EXPECT_EQ(m_sink.hosts[1].name, "b");
    EXPECT_LE(std::abs(far.launch->originNs - m_originNs - 500 * kSecondNs),
              m_sink.hosts[1].clockErrorNs);
    EXPECT_EQ(m_sink.hosts[1].clockOffsetNs, -far.launch->originNs);
    EXPECT_EQ(far.launch->part, 2);
    ASSERT_THAT(outcome.processes, SizeIs(3));
    EXPECT_EQ(outcome.processes[1].host, 0);
    EXPECT_EQ(outcome.processes[2].host, 1);
}

TEST_F(ProgramHostsTest, HostsAreGivenTheirPlaces) {
    part("a", "boot 1");
    part("b", "boot 2");
    run([this] { endAll(); }, false);
    for (const char* prefix : {"", "PET_"}) {
        const auto variable = [&](std::size_t place, const char* name) {
            return m_parts[place]->launch->environment.at(std::string(prefix) + name);
        };
        EXPECT_EQ(variable(1, "NODE_RANK"), "1");
        EXPECT_EQ(variable(0, "NNODES"), "2");
        EXPECT_EQ(variable(1, "MASTER_ADDR"), "10.0.0.9");
    }
}

TEST_F(ProgramHostsTest, ARankIsOfThePartThatSpokeForItFirst) {
    FakePart& first = part("a");
    FakePart& second = part("b");
    int turns = 0;
    run([&] {
        if (++turns == 1) {
            first.sendChunk({0});
            second.sendChunk({1});
            first.send({0}, run::MetricReported{{"lr", StepIndex{1}, Timestamp{1}, 0.5}});
        }
        if (m_sink.chunks.size() < 2) return;
        if (turns > 1 && m_sink.diagnostics.empty()) {
            second.sendChunk({0});
            second.send({1}, run::MetricReported{{"lr", StepIndex{1}, Timestamp{1}, 0.25}});
            second.sendChunk({0});
        }
        if (!m_sink.diagnostics.empty()) endAll();
    });
    EXPECT_THAT(m_sink.chunks, ElementsAre(Pair(RankId{0}, 20), Pair(RankId{1}, 20)));
    EXPECT_THAT(m_sink.hostOf, ElementsAre(Pair(RankId{0}, 0), Pair(RankId{1}, 1)));
    EXPECT_THAT(m_sink.metrics, ElementsAre(0.5));
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_THAT(m_sink.diagnostics[0].message,
                HasSubstr("what task 1 on b says of rank 0 is left out: that rank is of task 0"));
}

TEST_F(ProgramHostsTest, APartThatIsLostLeavesTheOthersAsTheyAre) {
    FakePart& first = part("a");
    FakePart& second = part("b");
    const auto outcome = run([&] {
        second.vanish();
        if (m_sink.diagnostics.empty()) return;
        first.end(3, 1);
    });
    ASSERT_TRUE(outcome.run.failure.has_value());
    EXPECT_THAT(outcome.run.failure->message, HasSubstr("task 1 on b was lost: its end is closed"));
    EXPECT_EQ(outcome.end.code, 3);
    EXPECT_FALSE(outcome.notStarted.has_value());
}

TEST_F(ProgramHostsTest, APartOfAnotherVersionIsRefusedBeforeAnythingStarts) {
    FakePart& first = part("a");
    run::AgentHello other{run::kProtocolVersion + 1, "shardscope 9", 7, {}, 0, ""};
    auto sockets = std::move(*socketPair());
    ProgramHostsRequest request;
    request.parts.push_back(first.run());
    request.parts.emplace_back();
    request.parts.back().start = [&]() -> Result<std::unique_ptr<AgentTransport>> {
        return std::make_unique<Transport>(std::move(sockets.first));
    };
    FrameChannel channel(std::move(sockets.second));
    channel.send(run::kNoRank, other);
    channel.flush();
    const auto outcome = ProgramHosts(std::move(request), m_sink).run();
    ASSERT_TRUE(outcome.notStarted.has_value());
    EXPECT_THAT(outcome.notStarted->message,
                AllOf(HasSubstr("shardscope 9"), HasSubstr("nothing was started")));
    first.turn();
    EXPECT_FALSE(first.launch.has_value());
}

TEST_F(ProgramHostsTest, AStallAcrossHostsNamesTheRankThatIsMissing) {
    FakePart& first = part("a");
    FakePart& second = part("b");
    run([&] {
        if (m_sink.kept > 0) return endAll();
        first.send({0}, run::CollectiveOpen{"default", 8, 7, "all_reduce", 6 * kSecondNs});
        second.send({1}, run::CollectiveOpen{"default", 7, 0, "", 0});
    });
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_EQ(m_sink.diagnostics[0].code, "rank-stalled");
    EXPECT_EQ(m_sink.diagnostics[0].rank, RankId{1});
    EXPECT_THAT(m_sink.diagnostics[0].message,
                AllOf(HasSubstr("all_reduce number 7"), HasSubstr("rank 1 is on task 1 on b")));
}

TEST_F(ProgramHostsTest, WishesReachAllParts) {
    part("a");
    part("b");
    bool asked = false;
    const auto outcome = run([&] {
        if (!std::exchange(asked, true)) {
            m_program->requestCapture({"light", "", 0});
            m_program->requestStop();
            m_program->requestKill();
        }
        for (auto& each : m_parts)
            if (each->commands.size() == 3) each->end(1, 0);
    });
    for (const auto& each : m_parts)
        EXPECT_THAT(each->commands, ElementsAre("capture", "stop", "kill"));
    EXPECT_TRUE(outcome.run.killed);
}

/// The recorder's end of one part, in a thread: hears everything until that is done.
class FakeRecorder {
public:
    explicit FakeRecorder(FileDescriptor socket) : m_channel(std::move(socket)) {}

    void send(const run::Message& message) {
        m_channel.send(run::kNoRank, message);
        m_channel.flush();
    }
    /// Until `holds` of a message, or it is closed.
    void hearUntil(const std::function<bool(const run::Message&)>& holds) {
        bool found = false;
        while (!found && m_channel.isOpen()) {
            std::vector<pollfd> polls;
            m_channel.addPolls(polls, true);
            ::poll(polls.data(), polls.size(), 100);
            std::vector<run::Frame> frames;
            static_cast<void>(m_channel.receive(frames));
            for (const run::Frame& frame : frames) {
                if (frame.type == run::FrameType::kChunk) continue;
                const auto message = run::decode(frame.text());
                if (!message) continue;
                if (const auto* each = std::get_if<run::ProgramEnded>(&*message)) ended = *each;
                if (const auto* each = std::get_if<run::ProcessesSeen>(&*message))
                    processes.insert(processes.end(), each->processes.begin(),
                                     each->processes.end());
                found = found || holds(*message);
            }
        }
    }
    template <class M>
    void hear() {
        hearUntil([](const run::Message& each) { return std::holds_alternative<M>(each); });
    }
    void close() { m_channel.close(); }

    std::optional<run::ProgramEnded> ended;
    std::vector<ProcessFacts> processes;

private:
    FrameChannel m_channel;
};

class FarProgramTest : public testing::Test {
protected:
    FarProgramTest() { std::signal(SIGPIPE, SIG_IGN); }

    /// Until the program has ended; `recorder` is called in a thread.
    Result<ProcessEnd> run(FarPart part, const std::function<void(FakeRecorder&)>& recorder) {
        auto sockets = std::move(*socketPair());
        m_recorder.emplace(std::move(sockets.first));
        std::thread thread([&] { recorder(*m_recorder); });
        part.product = "test";
        part.folder = m_folder.path();
        const auto end = FarProgram(FrameChannel(std::move(sockets.second)), std::move(part)).run();
        thread.join();
        return end;
    }
    [[nodiscard]] run::ProgramLaunch shell(const std::string& script) const {
        run::ProgramLaunch launch;
        launch.originNs = hostNow();
        launch.command = {"/bin/sh", "-c", script};
        launch.environment = {{"READY", m_folder.file("ready")}, {"GO", m_folder.file("go")}};
        return launch;
    }
    static void untilThere(const std::string& path) {
        while (!std::ifstream(path).good()) ::poll(nullptr, 0, 5);
    }

    test::TemporaryFolder m_folder;
    std::optional<FakeRecorder> m_recorder;
};

TEST_F(FarProgramTest, SaysAllOfItsProgram) {
    const auto end = run({}, [&](FakeRecorder& recorder) {
        recorder.hear<run::AgentHello>();
        recorder.send(shell("echo $TOLD; exit 7"));
        recorder.hear<run::AgentDone>();
        recorder.close();
    });
    ASSERT_THAT(end, test::IsOk());
    EXPECT_EQ(end->code, 7);
    ASSERT_TRUE(m_recorder->ended.has_value());
    EXPECT_EQ(m_recorder->ended->code, 7);
    ASSERT_THAT(m_recorder->processes, SizeIs(1));
    EXPECT_EQ(m_recorder->processes[0].exitCode, 7);
}

/// A recorder that a task has met over a network may be a stranger's.
TEST_F(FarProgramTest, WithAProgramOfItsOwnRunsNoOther) {
    FarPart part;
    part.own = shell("exit 5");
    const auto end = run(std::move(part), [&](FakeRecorder& recorder) {
        recorder.send(shell("exit 6"));
        recorder.hear<run::AgentDone>();
        recorder.close();
    });
    ASSERT_THAT(end, test::IsOk());
    EXPECT_EQ(end->code, 5);
}

TEST_F(FarProgramTest, ARecorderThatIsLostBeforeStartsNothing) {
    FarPart part;
    part.own = shell("touch $READY");
    const auto end = run(std::move(part), [](FakeRecorder& recorder) { recorder.close(); });
    EXPECT_THAT(end, test::FailsWith("before the program was started"));
    EXPECT_FALSE(std::ifstream(m_folder.file("ready")).good());
}

TEST_F(FarProgramTest, ItsProgramGoesOnWithoutTheRecorder) {
    FarPart part;
    part.own = shell("touch $READY; while [ ! -e $GO ]; do sleep 0.01; done; exit 4");
    const auto end = run(std::move(part), [&](FakeRecorder& recorder) {
        recorder.send(run::ProgramLaunch{});
        untilThere(m_folder.file("ready"));
        recorder.close();
        std::ofstream(m_folder.file("go")) << "1";
    });
    ASSERT_THAT(end, test::IsOk());
    EXPECT_EQ(end->code, 4);
}

TEST_F(FarProgramTest, WhatWasStartedForTheRecorderEndsWithIt) {
    FarPart part;
    part.endsWithRecorder = true;
    const auto end = run(std::move(part), [&](FakeRecorder& recorder) {
        recorder.send(shell("touch $READY; exec sleep 1000"));
        untilThere(m_folder.file("ready"));
        recorder.close();
    });
    ASSERT_THAT(end, test::IsOk());
    EXPECT_EQ(end->signal, SIGTERM);
}

TEST_F(FarProgramTest, AFolderThatIsNotThereIsSaidToTheRecorder) {
    const auto end = run({}, [&](FakeRecorder& recorder) {
        run::ProgramLaunch launch = shell("exit 0");
        launch.folder = "/nowhere/at/all";
        recorder.send(launch);
        recorder.hear<run::AgentDone>();
        recorder.close();
    });
    EXPECT_THAT(end, test::FailsWith("/nowhere/at/all"));
    ASSERT_TRUE(m_recorder->ended.has_value());
    EXPECT_THAT(m_recorder->ended->notStarted, HasSubstr("name another one with --folder"));
}

TEST_F(FarProgramTest, ObeysTheRecorder) {
    const auto end = run({}, [&](FakeRecorder& recorder) {
        recorder.send(shell("touch $READY; exec sleep 1000"));
        untilThere(m_folder.file("ready"));
        recorder.send(run::ClockAsked{5});
        recorder.hear<run::ClockAnswer>();
        recorder.send(run::Command{"stop"});
        recorder.hear<run::AgentDone>();
        recorder.close();
    });
    ASSERT_THAT(end, test::IsOk());
    EXPECT_EQ(end->signal, SIGTERM);
}

}  // namespace
}  // namespace shardscope::launch
