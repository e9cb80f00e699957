// Real programs, small ones, and what is said of them. Nothing waits for a time: a program goes on
// when a file is there or gone, or is looked at last when its first process has ended. What
// outlives it ends with the test's folder.
#include "engine/launch/program/program_supervisor.h"

#include "profiler/capture/program_link.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Sink : public RunSink {
public:
    void hostReady(const HostFacts&) override {}
    void message(RankId rank, const run::Message& message) override {
        if (const auto* each = std::get_if<run::RankStarted>(&message)) started[rank] = each->pid;
        if (const auto* each = std::get_if<run::RankExited>(&message)) exited[rank] = *each;
        if (const auto* each = std::get_if<run::RankFinished>(&message)) finished[rank] = *each;
        if (const auto* each = std::get_if<run::LaneDeclared>(&message))
            lanes.push_back({each->lane.rank, each->lane.lane});
        if (const auto* each = std::get_if<run::DiagnosticRaised>(&message))
            diagnostics.push_back(each->diagnostic);
    }
    void chunk(RankId rank, std::span<const std::byte> bytes) override {
        const auto events = columns::decodeCounters(bytes);
        ASSERT_THAT(events, test::IsOk());
        for (const CounterEvent& each : *events) samples[{rank, each.lane}].push_back(each.value);
    }
    void tick() override {
        if (onTick) onTick();
    }

    std::function<void()> onTick;
    std::map<RankId, std::int64_t> started;
    std::map<RankId, run::RankExited> exited;
    std::map<RankId, run::RankFinished> finished;
    std::vector<LaneAddress> lanes;
    std::map<LaneAddress, std::vector<double>> samples;
    std::vector<Diagnostic> diagnostics;
};

constexpr LaneAddress resident(std::uint32_t rank) {
    return {{rank}, lanes::kProgramResidentSet.id};
}
constexpr LaneAddress cpuTime(std::uint32_t rank) {
    return {{rank}, lanes::kProgramCpuTime.id};
}

class ProgramSupervisorTest : public testing::Test {
protected:
    /// With our variables, as if the library were there.
    ProgramOutcome run(const std::vector<std::string>& command) {
        ProgramSupervisor program({command, m_folder.path(), hostNow()}, m_sink);
        m_program = &program;
        m_socket = *program.listen();
        program.setEnvironment({{capture::kSocketVariable, m_socket},
                                {"PYTHONPATH", m_folder.path()},
                                {"READY", m_ready},
                                {"GO", m_go}});
        return program.run();
    }
    ProgramOutcome shell(const std::string& script) { return run({"/bin/sh", "-c", script}); }
    void letGo() const { std::ofstream(m_go) << "1"; }

    static const ProcessFacts& rowWith(const ProgramOutcome& outcome, const std::string& word) {
        for (const ProcessFacts& each : outcome.processes)
            if (each.command.starts_with(word)) return each;
        ADD_FAILURE() << "no process with " << word;
        static const ProcessFacts none;
        return none;
    }

    test::TemporaryFolder m_folder;
    std::string m_ready = m_folder.file("ready"), m_go = m_folder.file("go"), m_socket;
    ProgramSupervisor* m_program = nullptr;
    Sink m_sink;
};

TEST_F(ProgramSupervisorTest, AProgramWithoutRanksIsRankZero) {
    // Looked at several times; it becomes the program within the first turns.
    int turns = 0;
    m_sink.onTick = [&] {
        if (++turns == 8) letGo();
    };
    const auto outcome = shell("i=0; while [ ! -e $GO ]; do i=$((i+1)); done; exit 3");
    EXPECT_EQ(outcome.end.code, 3);
    EXPECT_EQ(outcome.ranks, 0);
    ASSERT_THAT(outcome.processes, SizeIs(1));
    const ProcessFacts& program = outcome.processes[0];
    EXPECT_EQ(program.role, ProcessRole::kProgram);
    EXPECT_EQ(program.rank, -1);
    EXPECT_EQ(program.parent, ::getpid());
    EXPECT_EQ(program.exitCode, 3);
    EXPECT_THAT(program.command, HasSubstr("/bin/sh -c i=0"));
    EXPECT_GT(program.cpuTimeNs, 0);
    EXPECT_GT(program.peakResident.count, 100'000);
    EXPECT_EQ(program.notRecorded, "");
    ASSERT_TRUE(program.ended.has_value());
    EXPECT_GE(*program.ended, program.started);

    EXPECT_EQ(m_sink.started.at({0}), program.pid);
    EXPECT_EQ(m_sink.exited.at({0}).code, 3);
    EXPECT_THAT(m_sink.lanes, SizeIs(2));
    ASSERT_GE(m_sink.samples[resident(0)].size(), 2u);
    EXPECT_GT(m_sink.samples[resident(0)].front(), 0);
    EXPECT_EQ(m_sink.samples[cpuTime(0)].size(), m_sink.samples[resident(0)].size());
    EXPECT_DOUBLE_EQ(m_sink.samples[cpuTime(0)].back(), static_cast<double>(outcome.cpuNs));
    EXPECT_EQ(m_sink.finished.at({0}).emitted, 2 * m_sink.samples[cpuTime(0)].size());
    EXPECT_THAT(m_sink.diagnostics, IsEmpty());
}

TEST_F(ProgramSupervisorTest, ASignalEndsItAsOneEndsIt) {
    m_sink.onTick = [this] { m_program->passOn(SIGTERM, false); };
    const auto outcome = run({"/bin/sleep", "1000"});
    EXPECT_EQ(outcome.end.signal, SIGTERM);
    ASSERT_THAT(outcome.processes, SizeIs(1));
    EXPECT_EQ(outcome.processes[0].exitSignal, SIGTERM);
    EXPECT_EQ(m_sink.exited.at({0}).signal, SIGTERM);
}

/// The terminal has given it to the program already.
TEST_F(ProgramSupervisorTest, ASignalOfTheTerminalIsNotPassedOn) {
    bool passed = false;
    m_sink.onTick = [&] {
        if (!passed) m_program->passOn(SIGTERM, true);
        passed = true;
        letGo();
    };
    const auto outcome = shell("while [ ! -e $GO ]; do sleep 0.01; done; exit 4");
    EXPECT_EQ(outcome.end.code, 4);
}

TEST_F(ProgramSupervisorTest, WhatOutlivesTheFirstProcessIsThereAllTheSame) {
    const auto outcome = shell(
        "sh -c 'sh -c \"echo >$READY; while [ -e $READY ]; do sleep 0.01; done; : deep\"; : "
        "middle' "
        "&"
        "while [ ! -e $READY ]; do sleep 0.01; done; exit 5");
    EXPECT_EQ(outcome.end.code, 5);
    const ProcessFacts& deep = rowWith(outcome, "sh -c echo");
    const ProcessFacts& middle = rowWith(outcome, "sh -c sh -c");
    EXPECT_EQ(deep.parent, middle.pid);
    EXPECT_EQ(deep.role, ProcessRole::kOther);
    EXPECT_FALSE(deep.ended.has_value());
    EXPECT_FALSE(deep.exitCode.has_value());
    EXPECT_GE(m_sink.samples[resident(0)].back(), 1) << "of what is left";
}

TEST_F(ProgramSupervisorTest, AProgramThatCannotBeExecutedIsSaidToBe) {
    std::ofstream(m_folder.file("text")) << "text";
    const auto outcome = run({m_folder.file("text")});
    EXPECT_TRUE(outcome.notStarted.has_value());
    EXPECT_THAT(outcome.processes, IsEmpty());
    EXPECT_THAT(m_sink.samples, IsEmpty());
}

TEST_F(ProgramSupervisorTest, WhatLoadedPyTorchAndDidNotReportIsNamed) {
    std::ofstream(m_folder.file("libtorch_cpu.so")) << "stands for PyTorch";
    std::ofstream(m_folder.file("train.py"))
        << "import mmap, os, sys, time\n"
           "file = open(os.path.join(os.path.dirname(sys.argv[0]), 'libtorch_cpu.so'), 'rb')\n"
           "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
           "open(os.environ['READY'], 'w').close()\n"
           "while os.path.exists(os.environ['READY']): time.sleep(0.01)\n";
    const auto outcome = shell("python3 -I " + m_folder.file("train.py") +
                               " & while [ ! -e $READY ]; do sleep 0.01; done");
    std::vector<std::string> reasons;
    for (const ProcessFacts& each : outcome.processes)
        if (!each.notRecorded.empty()) reasons.push_back(each.notRecorded);
    EXPECT_THAT(reasons, testing::ElementsAre(HasSubstr("started with -I")));
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_EQ(m_sink.diagnostics[0].code, "not-recorded");
    EXPECT_THAT(m_sink.diagnostics[0].message, HasSubstr("train.py) was not recorded"));
}

/// Says so over the socket, as the library does.
void say(const std::string& path, FileDescriptor& socket,
         const std::vector<capture::LinkMessage>& messages) {
    socket = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    std::vector<std::byte> frames;
    for (const capture::LinkMessage& each : messages) {
        const auto frame = capture::encodeLink(each);
        frames.insert(frames.end(), frame.begin(), frame.end());
    }
    ASSERT_EQ(::write(socket.get(), frames.data(), frames.size()),
              static_cast<ssize_t>(frames.size()));
}

void claim(const std::string& path, FileDescriptor& socket, std::int32_t rank) {
    say(path, socket,
        {capture::ProcessHello{::getpid(), 77, "test"}, capture::RankClaim{rank, "RANK"}});
}

/// A program that closes all its descriptors closes the library's too, which connects again.
TEST_F(ProgramSupervisorTest, AProcessGoesOnOverAnotherConnection) {
    FileDescriptor first, second;
    bool claimed = false, again = false;
    m_sink.onTick = [&] {
        if (!std::exchange(claimed, true)) claim(m_socket, first, 3);
        if (!m_sink.started.contains({3})) return;
        if (!std::exchange(again, true)) {
            first.reset();
            say(m_socket, second,
                {capture::ProcessHello{::getpid(), 77, "test"}, capture::LogText{"info", "one"},
                 capture::LogText{"info", "two"}});
        }
        if (m_sink.diagnostics.size() < 2) return;
        letGo();
        second.reset();
    };
    const auto outcome = shell("while [ ! -e $GO ]; do sleep 0.01; done");
    EXPECT_EQ(outcome.ranks, 4);
    ASSERT_THAT(m_sink.diagnostics, SizeIs(2));
    EXPECT_EQ(m_sink.diagnostics[1].message, "two");
    EXPECT_EQ(m_sink.diagnostics[1].rank, RankId{3});
    EXPECT_EQ(m_sink.started.size(), 1u);
}

TEST_F(ProgramSupervisorTest, APyTorchWithoutAShimIsSaidOnce) {
    FileDescriptor socket;
    bool claimed = false;
    m_sink.onTick = [&] {
        if (std::exchange(claimed, true)) return;
        const capture::ProcessFact fact{"shim", "none for PyTorch 9.9: only ranges"};
        say(m_socket, socket,
            {capture::ProcessHello{::getpid(), 77, "test"}, capture::RankClaim{3, "RANK"}, fact,
             fact});
        socket.reset();
        letGo();
    };
    shell("while [ ! -e $GO ]; do sleep 0.01; done");
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_EQ(m_sink.diagnostics[0].code, "no-shim");
    EXPECT_THAT(m_sink.diagnostics[0].message, HasSubstr("none for PyTorch 9.9"));
}

TEST_F(ProgramSupervisorTest, StacksThatCannotBeHadAreSaidOnce) {
    FileDescriptor socket;
    bool claimed = false;
    m_sink.onTick = [&] {
        if (std::exchange(claimed, true)) return;
        const capture::ProcessFact recorded{"stacks", "recorded"};
        const capture::ProcessFact fact{"stacks", "none: this Python has no PyFrame_GetCode()"};
        say(m_socket, socket,
            {capture::ProcessHello{::getpid(), 77, "test"}, capture::RankClaim{3, "RANK"}, recorded,
             fact, fact});
        socket.reset();
        letGo();
    };
    shell("while [ ! -e $GO ]; do sleep 0.01; done");
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_EQ(m_sink.diagnostics[0].code, "no-stacks");
    EXPECT_THAT(m_sink.diagnostics[0].message, HasSubstr("no PyFrame_GetCode()"));
}

/// Python, as the test's own process must live on: it claims a rank, says more and ends.
std::string saying(const std::vector<capture::LinkMessage>& messages) {
    std::string bytes;
    for (const capture::LinkMessage& each : messages)
        for (const std::byte byte : capture::encodeLink(each))
            bytes += fmt::format("\\x{:02x}", std::to_integer<int>(byte));
    return fmt::format(
        "python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); "
        "s.connect(os.environ[\"{}\"]); s.sendall(b\"{}\")'",
        capture::kSocketVariable, bytes);
}

TEST_F(ProgramSupervisorTest, ARankThatEndsWithoutItsLastWordIsSaidToLackEvents) {
    const auto rank = [](std::int32_t number, capture::LinkMessage last) {
        return saying({capture::ProcessHello{0, static_cast<std::uint64_t>(number), "test"},
                       capture::RankClaim{number, "RANK"}, std::move(last)});
    };
    const std::string ended = rank(1, capture::ProcessEnding{0, 0, 0});
    const std::string flushed = rank(2, capture::ProcessFact{"said_all", "yes"});
    shell(ended + "; " + flushed);
    EXPECT_THAT(m_sink.diagnostics, IsEmpty());
    const capture::LinkMessage nothing = capture::ProcessFact{"python", "3"};
    shell(ended + "; " + rank(3, nothing));
    ASSERT_THAT(m_sink.diagnostics, SizeIs(1));
    EXPECT_EQ(m_sink.diagnostics[0].code, "rank-cut-off");
    EXPECT_EQ(m_sink.diagnostics[0].rank, RankId{3});
    shell(rank(3, nothing) + "; " + rank(4, nothing));
    ASSERT_THAT(m_sink.diagnostics, SizeIs(2));
    EXPECT_THAT(m_sink.diagnostics[1].message, testing::StartsWith("2 processes, such as rank 3"));
    EXPECT_EQ(m_sink.diagnostics[1].rank, std::nullopt);
}

/// The first order of the recorder that is there.
std::optional<capture::LinkMessage> orderOn(const FileDescriptor& socket) {
    std::array<std::byte, 256> bytes{};
    const auto got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    capture::LinkReader reader;
    reader.append(std::span(bytes).first(static_cast<std::size_t>(got)));
    return reader.next().value_or(std::nullopt);
}

/// Of a recorder on another host: processes that come later learn of it too.
TEST_F(ProgramSupervisorTest, ACorrectionOfTheClockReachesAllProcesses) {
    FileDescriptor first, second;
    std::vector<std::optional<capture::LinkMessage>> told;
    bool claimed = false, more = false;
    m_sink.onTick = [&] {
        if (!std::exchange(claimed, true)) claim(m_socket, first, 3);
        if (!m_sink.started.contains({3})) return;
        if (!std::exchange(more, true)) {
            m_program->correctClock({1, 2, 3});
            say(m_socket, second,
                {capture::ProcessHello{::getpid(), 78, "test"}, capture::RankClaim{4, "RANK"}});
        }
        if (!m_sink.started.contains({4}) || !told.empty()) return;
        told = {orderOn(first), orderOn(second)};
        first.reset();
        second.reset();
        letGo();
    };
    shell("while [ ! -e $GO ]; do sleep 0.01; done");
    ASSERT_THAT(told, SizeIs(2));
    for (const auto& each : told) {
        ASSERT_TRUE(each.has_value());
        const auto* line = std::get_if<ClockLine>(&*each);
        ASSERT_NE(line, nullptr);
        EXPECT_EQ(line->originNs, 2);
        EXPECT_EQ(line->driftPpb, 3);
    }
}

TEST_F(ProgramSupervisorTest, OfARankTheProgramsSamplesAreOfTheLowest) {
    FileDescriptor socket;
    bool claimed = false;
    m_sink.onTick = [&] {
        if (!std::exchange(claimed, true)) claim(m_socket, socket, 3);
        if (!m_sink.started.contains({3})) return;
        letGo();
        socket.reset();
    };
    const auto outcome = shell("while [ ! -e $GO ]; do sleep 0.01; done");
    EXPECT_EQ(outcome.ranks, 4);
    EXPECT_EQ(m_sink.started.size(), 1u);
    EXPECT_EQ(m_sink.started.at({3}), ::getpid());
    EXPECT_THAT(m_sink.lanes, SizeIs(2));
    EXPECT_FALSE(m_sink.samples[resident(3)].empty());
    EXPECT_TRUE(m_sink.samples[resident(0)].empty());
    const auto own = std::find_if(outcome.processes.begin(), outcome.processes.end(),
                                  [](const auto& each) { return each.pid == ::getpid(); });
    ASSERT_NE(own, outcome.processes.end());
    EXPECT_EQ(own->role, ProcessRole::kRank);
    EXPECT_EQ(own->rank, 3);
    EXPECT_EQ(own->attempt, 0);
}

}  // namespace
}  // namespace shardscope::launch
