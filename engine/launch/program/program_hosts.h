// The recorder's side of a program in several parts, on several hosts or in tasks of a launcher:
// each part is started and watched by a FarProgram, and all that they say comes together here.
//
// Ranks are numbered by what their processes say; the first part that speaks for a rank has it. A
// part that is lost leaves the others as they are. One thread, one poll loop, run().
#pragma once

#include "engine/launch/agent_link.h"
#include "engine/launch/program/program_supervisor.h"
#include "engine/launch/program/stall_watch.h"
#include "engine/launch/run_control.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardscope::launch {

struct ProgramHostsRequest {
    run::ProgramLaunch launch;         ///< of all parts; `originNs` by the recorder's clock
    std::vector<HostRun> parts;        ///< of each how it is reached, its name, its environment
    std::chrono::nanoseconds stall{};  ///< as ProgramRequest has it
    bool tasks = false;                ///< parts are a launcher's tasks, several on a host perhaps
    /// A line that the program wrote on that host; not of tasks, which write by themselves.
    std::function<void(const std::string& host, const std::string& line)> said = {};
};

class ProgramHosts final : public RunControl {
public:
    ProgramHosts(ProgramHostsRequest request, RunSink& sink);
    ~ProgramHosts() override;
    ProgramHosts(const ProgramHosts&) = delete;
    ProgramHosts& operator=(const ProgramHosts&) = delete;

    /// Starts all parts once each has greeted and all clocks are known, and returns when all have
    /// ended. `end` is that of the first part that did not end well, or else of the first.
    ProgramOutcome run();

    void watch(int fd, std::function<bool()> readable) override;
    void requestStop() override;
    [[nodiscard]] const char* stopWords() const override { return kProgramStop; }
    void requestKill() override;
    void requestCapture(const CaptureChange& change) override;
    bool requestKeep() override { return m_sink.keep(); }
    void abandon(const Error& error) override;

private:
    using Clock = std::chrono::steady_clock;
    struct Part {
        AgentLink link;
        std::int32_t host = -1;  ///< of the recording; -1: it has not greeted
        bool keepsTime = false;  ///< its clock is the one that is asked for on its host
        std::optional<run::ProgramEnded> ended{};
        std::vector<ProcessFacts> processes{};
        bool speaks = false;     ///< its program's output is still coming
        bool saidTaken = false;  ///< that it speaks for another part's rank
    };
    struct Watch {
        int fd = -1;
        std::function<bool()> readable;
    };

    bool start();
    void poll();
    void takeFrom(Part& part);
    void handle(Part& part, const run::Frame& frame);
    void handleOwn(Part& part, const run::Message& message);
    void handleRank(Part& part, RankId rank, const run::Message& message);
    void greet(Part& part, const run::AgentHello& hello);
    void takeTime(Part& part, const run::ClockAnswer& answer);
    void compareClocks();
    void launchAll();
    [[nodiscard]] bool owns(Part& part, RankId rank);
    [[nodiscard]] const Part& clockOf(const Part& part) const;
    [[nodiscard]] std::string nameOf(const Part& part) const;
    void addPlace(const Part& part, std::map<std::string, std::string>& variables) const;
    [[nodiscard]] HostFacts factsOf(const Part& part) const;
    void lost(Part& part, const std::string& how);
    void keepTime();
    void lookForStalls();
    void tellParts(const run::Message& message);
    void say(Severity severity, const std::string& code, const std::string& text,
             const std::string& remedy, std::optional<RankId> rank = std::nullopt);
    void fail(const Error& error);
    void conclude();
    [[nodiscard]] Timestamp now() const;

    ProgramHostsRequest m_request;
    RunSink& m_sink;
    std::list<Part> m_parts;
    std::vector<Watch> m_watches;
    std::map<RankId, Part*> m_owners;
    std::map<RankId, std::string> m_exits;  ///< of ranks whose process has ended
    StallWatch m_stalls;
    std::int32_t m_hosts = 0;
    bool m_launched = false;
    bool m_done = false;
    bool m_stopAsked = false, m_killAsked = false;
    Clock::time_point m_startedAt = Clock::now(), m_lastTurn = Clock::now();
    Clock::time_point m_nextHeartbeat{}, m_nextLook{};
    ProgramOutcome m_outcome;
};

}  // namespace shardscope::launch
