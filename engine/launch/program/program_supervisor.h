// The recorder's side of a program that knows nothing of us: starts it, listens to its processes,
// says which of them is which rank, and waits for its end.
//
// The program keeps our terminal, our standard input and our process group; a signal that another
// process sends us is passed on, one of the terminal reaches it anyway. It is never ended by us but
// on request. One thread, one poll loop, run().
#pragma once

#include "engine/launch/process.h"
#include "engine/launch/program/process_log.h"
#include "engine/launch/program/program_environment.h"
#include "engine/launch/program/program_ranks.h"
#include "engine/launch/program/stall_watch.h"
#include "engine/launch/run_control.h"
#include "engine/launch/run_supervisor.h"
#include "engine/run/protocol/messages.h"
#include "engine/run/protocol/progress.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/process_facts.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

/// RunControl::stopWords() of programs.
inline constexpr const char* kProgramStop = "the program is sent SIGTERM";

/// Peak of a rank by what its process said of itself ("device", "dtype", "threads"), and how many
/// ranks the program has on this host.
using ProgramPeak = std::function<run::PeakMeasured(const std::map<std::string, std::string>& facts,
                                                    std::int32_t ranks)>;

struct ProgramRequest {
    std::vector<std::string> command;     ///< program and arguments
    std::string folder;                   ///< of this user only; the socket is made there
    std::int64_t originNs = 0;            ///< host clock at the recording clock's zero
    std::int64_t stall = 60'000'000'000;  ///< ns in a collective after which it is looked into
    std::int32_t part = 0;                ///< number of its only rank, where it names none
    /// It reads nothing of our input, and what it says goes to our standard error.
    bool detached = false;
    /// Called about once a second; may be empty.
    std::function<void(const run::ProgramFigures&)> figures = {};
    ProgramPeak peak = {};  ///< may be empty
};

struct ProgramOutcome {
    RunOutcome run;
    std::optional<Error> notStarted;
    ProcessEnd end;          ///< of the program's first process
    std::int64_t cpuNs = 0;  ///< of all processes that were seen
    std::vector<ProcessFacts> processes;
    std::map<std::string, std::string> facts;  ///< of the lowest rank: "torch", "model", "world"
    std::int32_t ranks = 0;                    ///< 0: no process said that it is one
    std::int32_t parts = 1;                    ///< that were started: on hosts, in tasks
};

class ProgramSupervisor : public RunControl {
public:
    ProgramSupervisor(ProgramRequest request, RunSink& sink);
    ~ProgramSupervisor() override;
    ProgramSupervisor(const ProgramSupervisor&) = delete;
    ProgramSupervisor& operator=(const ProgramSupervisor&) = delete;

    /// listen() and setEnvironment(), of variables without a socket; what was set already and is
    /// left alone is a diagnostic.
    Result<void> prepare(ProgramVariables variables);
    /// Makes the socket, and says where it is.
    Result<std::string> listen();
    /// Added to ours for the program. Before run().
    void setEnvironment(std::map<std::string, std::string> variables) {
        m_environment = std::move(variables);
    }
    /// Starts the program, and returns when it has ended, and all of its ranks.
    ProgramOutcome run();

    void watch(int fd, std::function<bool()> readable) override;
    void requestStop() override;
    [[nodiscard]] const char* stopWords() const override { return kProgramStop; }
    void requestKill() override;
    void requestCapture(const CaptureChange& change) override;
    /// Its processes' clock from now on: another host's recorder has compared it with its own.
    void correctClock(const ClockLine& line);
    bool requestKeep() override { return m_sink.keep(); }
    /// The program goes on; nothing more is recorded.
    void abandon(const Error& error) override;
    /// Signal `number` arrived at us; from the terminal, the program has it already.
    void passOn(int number, bool fromTerminal);

private:
    using Clock = std::chrono::steady_clock;
    struct Watch {
        int fd = -1;
        std::function<bool()> readable;
    };

    void poll();
    void accept();
    [[nodiscard]] GivenVariables givenVariables() const;
    void lookAtProcesses();
    void sayStall(const Stall& stall);
    void sampleProgram();
    void sampleAsItsOnlyRank();
    void reportFigures();
    [[nodiscard]] bool isOver();
    void concludePeaks();
    void concludeSamples();
    void concludeProcesses();
    void conclude();
    [[nodiscard]] Timestamp now() const;

    ProgramRequest m_request;
    std::map<std::string, std::string> m_environment;
    RunSink& m_sink;
    ProgramRanks m_ranks;
    std::vector<Watch> m_watches;
    std::string m_socketPath;
    FileDescriptor m_listener;
    FileDescriptor m_childFd;
    pid_t m_child = -1;
    std::optional<ProcessEnd> m_end;
    std::optional<Clock::time_point> m_endedAt;
    Timestamp m_endedTime;  ///< the same
    std::optional<ProcessLog> m_log;
    ProgramSamples m_samples;
    ProcessLoads m_loads;
    Clock::time_point m_nextFigures;
    Clock::time_point m_startedAt;
    Clock::time_point m_nextLook;
    Clock::time_point m_nextSample;
    bool m_stopAsked = false;
    bool m_killAsked = false;
    bool m_leave = false;  ///< the user does not want to wait for what is left of the program
    ProgramOutcome m_outcome;
};

}  // namespace shardscope::launch
