#include "engine/launch/program/far_program.h"

#include "engine/launch/host_facts.h"
#include "engine/launch/host_preparation.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
/// Events that wait for a slow link, beyond 16 MB of memory in a file.
constexpr std::int64_t kMostOnDisk = std::int64_t{1} << 30;
constexpr std::chrono::seconds kGraceBeforeKill{10};
/// Of one message.
constexpr std::size_t kProcessesAtOnce = 200;

run::Frame frameOf(RankId rank, const run::Message& message) {
    const std::string text = run::encode(message);
    run::Frame frame{run::FrameType::kMessage, rank, {}};
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    frame.payload.assign(bytes, bytes + text.size());
    return frame;
}

Result<void> enter(const std::string& folder) {
    if (folder.empty() || ::chdir(folder.c_str()) == 0) return {};
    return failure(ErrorCode::kLaunch,
                   fmt::format("the working folder {}: {}; name another one with --folder", folder,
                               std::strerror(errno)));
}

}  // namespace

FarProgram::FarProgram(FrameChannel recorder, FarPart part)
    : m_recorder(std::move(recorder)), m_part(std::move(part)), m_events(m_recorder, true) {
    BacklogLimits limits;
    limits.disk = kMostOnDisk;
    limits.folder = m_part.folder;
    // Where only some steps are kept, a step must not overtake the events before it.
    m_events.prepare(limits, true);
}

Result<ProcessEnd> FarProgram::run() {
    m_launch = m_part.launch;
    if (!m_launch)
        m_recorder.send(run::kNoRank,
                        run::AgentHello{run::kProtocolVersion, m_part.product, ::getpid(),
                                        hostFacts(), hostNow(), reachedAddress()});
    const auto launch = awaitLaunch();
    if (!launch) return failure(launch);
    auto outcome = runProgram(*launch);
    if (outcome && outcome->notStarted) outcome = tl::unexpected(Error(*outcome->notStarted));
    if (outcome) {
        sayEnd(*outcome);
    } else {
        run::ProgramEnded ended;
        ended.notStarted = outcome.error().message;
        message(run::kNoRank, ended);
    }
    linger();
    if (!outcome) return failure(outcome);
    return outcome->end;
}

Result<run::ProgramLaunch> FarProgram::awaitLaunch() {
    while (!m_launch) {
        if (!m_part.goOn())
            return failure(ErrorCode::kInterrupted, "interrupted before the program was started");
        if (!m_recorder.isOpen())
            return failure(ErrorCode::kLaunch,
                           "the recorder ended before the program was started; see what it says");
        pollRecorder();
        hear();
        tick();
    }
    return *m_launch;
}

Result<ProgramOutcome> FarProgram::runProgram(const run::ProgramLaunch& launch) {
    if (auto entered = enter(launch.folder); !entered) return failure(entered);
    ProgramRequest request;
    request.command = launch.command;
    request.folder = m_part.folder;
    request.originNs = launch.originNs;
    request.part = launch.part;
    request.detached = m_part.detached;
    request.peak = m_part.peak;
    ProgramSupervisor program(std::move(request), *this);
    const auto prepared = program.prepare({"", launch.capture, launch.originNs, launch.stepRange,
                                           injectionHome(), launch.environment});
    if (!prepared) return failure(prepared);
    std::vector<pollfd> polls;
    m_recorder.addPolls(polls, true);
    m_program = &program;
    m_part.attach(program);
    if (!polls.empty())
        program.watch(polls.front().fd, [this] {
            hear();
            return m_recorder.isOpen();
        });
    ProgramOutcome outcome = program.run();
    m_program = nullptr;
    return outcome;
}

void FarProgram::pollRecorder() const {
    std::vector<pollfd> polls;
    m_recorder.addPolls(polls, true);
    ::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count()));
}

void FarProgram::hear() {
    std::vector<run::Frame> frames;
    const auto received = m_recorder.receive(frames);
    const std::int64_t receivedNs = hostNow();
    if (!frames.empty()) m_lastHeard = Clock::now();
    for (const run::Frame& frame : frames) {
        const auto message = run::decode(frame.text());
        if (!message) return lose();
        obey(*message, receivedNs);
    }
    if (!received || !m_recorder.isOpen()) lose();
}

void FarProgram::obey(const run::Message& message, std::int64_t receivedNs) {
    if (const auto* launch = std::get_if<run::ProgramLaunch>(&message)) {
        take(*launch);
    } else if (const auto* asked = std::get_if<run::ClockAsked>(&message)) {
        m_recorder.send(run::kNoRank, run::ClockAnswer{asked->sentNs, receivedNs, hostNow()});
        m_recorder.flush();
    } else if (const auto* taken = std::get_if<run::Taken>(&message)) {
        m_events.noteTaken(taken->bytes);
    } else if (const auto* order = std::get_if<run::Command>(&message)) {
        command(*order);
    } else if (const auto* clock = std::get_if<run::ClockCorrection>(&message)) {
        if (m_program != nullptr)
            m_program->correctClock({clock->fromNs, clock->originNs, clock->driftPpb});
    }
}

void FarProgram::take(const run::ProgramLaunch& launch) {
    if (m_launch) return;
    m_launch = m_part.own.command.empty() ? launch : m_part.own;
    m_launch->originNs = launch.originNs;
    m_launch->part = launch.part;
}

void FarProgram::command(const run::Command& command) {
    if (m_program == nullptr) return;
    if (command.verb == "stop") m_program->requestStop();
    if (command.verb == "kill") m_program->requestKill();
    if (command.verb == "capture") m_program->requestCapture(command.capture);
}

void FarProgram::message(RankId rank, const run::Message& message) {
    if (m_lost) return;
    const auto* finished = std::get_if<run::RankFinished>(&message);
    if (finished == nullptr) return m_events.send(frameOf(rank, message));
    run::RankFinished whole = *finished;
    whole.dropped += m_dropped[rank];
    m_events.send(frameOf(rank, whole));
}

void FarProgram::chunk(RankId rank, std::span<const std::byte> bytes) {
    if (m_lost) return;
    if (m_events.full()) {
        if (const auto header = columns::decodeHeader(bytes)) m_dropped[rank] += header->count;
        return;
    }
    m_events.send({run::FrameType::kChunk, rank, {bytes.begin(), bytes.end()}});
}

bool FarProgram::keep() {
    if (m_part.keepsLast) m_recorder.send(run::kNoRank, run::Command{"keep"});
    return m_part.keepsLast;
}

bool FarProgram::collectiveOpen(RankId rank, const capture::CollectiveProgress& progress) {
    message(rank, run::CollectiveOpen{progress.group, static_cast<std::int64_t>(progress.issued),
                                      static_cast<std::int64_t>(progress.sequence),
                                      progress.operation, progress.openNs});
    return true;
}

void FarProgram::tick() {
    const auto now = Clock::now();
    if (m_killAt && now > *m_killAt && m_program != nullptr) m_program->requestKill();
    if (m_lost) return;
    m_events.turn();
    if (now >= m_nextHeartbeat) {
        if (m_recorder.pendingBytes() == 0) m_recorder.send(run::kNoRank, run::Heartbeat{});
        m_nextHeartbeat = now + kHeartbeatInterval;
    }
    m_recorder.flush();
    if (!m_part.near && m_launch && now - m_lastHeard > kLease) lose();
}

void FarProgram::sayEnd(const ProgramOutcome& outcome) {
    for (std::size_t at = 0; at < outcome.processes.size(); at += kProcessesAtOnce) {
        const auto end = std::min(outcome.processes.size(), at + kProcessesAtOnce);
        message(run::kNoRank,
                run::ProcessesSeen{{outcome.processes.begin() + static_cast<std::ptrdiff_t>(at),
                                    outcome.processes.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
    run::ProgramEnded ended;
    ended.code = outcome.end.code;
    ended.signal = outcome.end.signal;
    ended.cpuNs = outcome.cpuNs;
    ended.facts = outcome.facts;
    ended.ranks = outcome.ranks;
    message(run::kNoRank, ended);
}

/// Until the recorder has all, has asked for the time once more, and closes.
void FarProgram::linger() {
    while (m_recorder.isOpen() && !m_lost) {
        tick();
        if (m_events.empty() && !std::exchange(m_done, true))
            m_recorder.send(run::kNoRank, run::AgentDone{});
        m_recorder.flush();
        pollRecorder();
        hear();
    }
}

/// After the last word nothing is lost with it.
void FarProgram::lose() {
    if (std::exchange(m_lost, true)) return;
    m_recorder.close();
    if (m_program != nullptr) m_program->abandon({ErrorCode::kLaunch, "the recorder was lost"});
    if (m_part.endsWithRecorder && m_program != nullptr) {
        m_program->requestStop();
        m_killAt = Clock::now() + kGraceBeforeKill;
    } else if (m_launch && !m_done) {
        std::fputs(
            "shardscope record: the recorder was lost; the program goes on and is not "
            "recorded any more\n",
            stderr);
    }
}

}  // namespace shardscope::launch
