// A program of this host, or of this task of a launcher, whose recorder is another process: what
// ProgramSupervisor finds goes there through a channel.
//
// The program starts once the recorder says so. That the recorder is lost is said once on standard
// error, and the program goes on unrecorded unless it was started by the recorder.
//
// The process's main thread; run() is its poll loop.
#pragma once

#include "engine/launch/event_sender.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/program/program_supervisor.h"
#include "engine/launch/run_supervisor.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace shardscope::launch {

struct FarPart {
    std::string product;  ///< this build's name and version
    std::string folder;   ///< as ProgramRequest has it
    /// The program, where it is this process's to say: of a message of the recorder's, which may
    /// then ask for nothing else, it takes the clock and the number. No command: the recorder says.
    run::ProgramLaunch own;
    bool keepsLast = false;  ///< the recording is a flight recorder's
    bool near = false;       ///< the recorder is on this host: it may stand still for long
    bool detached = false;   ///< as ProgramRequest has it
    /// The program was started for the recorder alone: where that is lost, it is ended.
    bool endsWithRecorder = false;
    /// What the recorder has asked for already, after a greeting.
    std::optional<run::ProgramLaunch> launch{};
    ProgramPeak peak = {};  ///< as ProgramRequest has it
    /// Before the program starts: false ends the wait for it.
    std::function<bool()> goOn = [] { return true; };
    /// When it is about to start: for those who ask something of it.
    std::function<void(ProgramSupervisor&)> attach = [](ProgramSupervisor&) {};
};

class FarProgram final : public RunSink {
public:
    FarProgram(FrameChannel recorder, FarPart part);

    /// To the end of the program, whose end it gives. kLaunch when the recorder was lost before the
    /// program was started, or the program cannot be; kInterrupted when `goOn` said so.
    Result<ProcessEnd> run();

    // What the program's supervisor finds.
    void hostReady(const HostFacts&) override {}
    void message(RankId rank, const run::Message& message) override;
    void chunk(RankId rank, std::span<const std::byte> bytes) override;
    bool keep() override;
    bool collectiveOpen(RankId rank, const capture::CollectiveProgress& progress) override;
    void tick() override;

private:
    using Clock = std::chrono::steady_clock;

    Result<run::ProgramLaunch> awaitLaunch();
    Result<ProgramOutcome> runProgram(const run::ProgramLaunch& launch);
    void hear();
    void obey(const run::Message& message, std::int64_t receivedNs);
    void take(const run::ProgramLaunch& launch);
    void command(const run::Command& command);
    void sayEnd(const ProgramOutcome& outcome);
    void linger();
    void pollRecorder() const;
    void lose();

    FrameChannel m_recorder;
    const FarPart m_part;
    EventSender m_events;  ///< through m_recorder
    ProgramSupervisor* m_program = nullptr;
    std::optional<run::ProgramLaunch> m_launch;
    std::map<RankId, std::uint64_t> m_dropped;  ///< events that found no room here
    bool m_lost = false;
    bool m_done = false;  ///< all is said
    std::optional<Clock::time_point> m_killAt;
    Clock::time_point m_lastHeard = Clock::now();
    Clock::time_point m_nextHeartbeat{};
};

}  // namespace shardscope::launch
