// The recorder's side of a run: starts the agent, hands on what ranks say, ends the run.
//
// One thread, one poll loop, run(). What to do with the ranks' words is the sink's business;
// why the run ended is told by RunOutcome.
#pragma once

#include "engine/launch/frame_channel.h"
#include "engine/launch/process.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope::launch {

/// Called from within RunSupervisor::run().
class RunSink {
public:
    virtual ~RunSink() = default;
    /// The agent is there and of our version; ranks are started next.
    virtual void agentReady(const run::AgentHello& hello) = 0;
    /// Everything a rank says, and RankStarted, RankExited and LogLine of its agent.
    virtual void message(RankId rank, const run::Message& message) = 0;
    virtual void chunk(RankId rank, std::span<const std::byte> bytes) = 0;
    /// At least five times a second.
    virtual void tick() = 0;
};

struct RunRequest {
    run::LaunchRequest launch;
    std::string agentProgram;
    std::vector<std::string> agentArguments;
};

struct RunOutcome {
    /// What ended the run before its last step, other than the user's wish.
    std::optional<Error> failure;
    std::optional<RankId> failedRank;  ///< the first one, by time
    bool stopped = false;              ///< the user asked for it, and all ranks ended in order
    bool killed = false;               ///< the user asked for it
};

class RunSupervisor {
public:
    RunSupervisor(RunRequest request, RunSink& sink);
    ~RunSupervisor();  ///< no process of the run is left behind
    RunSupervisor(const RunSupervisor&) = delete;
    RunSupervisor& operator=(const RunSupervisor&) = delete;

    /// Calls `readable` when `fd` is; it returns false to be forgotten. Before run().
    void watch(int fd, std::function<bool()> readable);

    RunOutcome run();

    // From sink and watch callbacks:
    void requestStop();  ///< after the current step
    void requestKill();  ///< at once
    /// What is captured from some step on, alike on all ranks.
    void requestCapture(const run::CaptureChange& change);
    /// Stops and reports `error` as the reason, e.g. when the recording cannot be written.
    void abandon(const Error& error);

private:
    using Clock = std::chrono::steady_clock;
    struct Watch {
        int fd = -1;
        std::function<bool()> readable;
    };
    struct RankState {
        bool finished = false;  ///< said so
        std::int32_t lastStep = -1;
        std::optional<run::RankFailed> failed;
        std::optional<run::RankExited> exit;
    };

    Result<void> startAgent();
    void poll();
    void takeFromAgent();
    void handle(const run::Frame& frame);
    void handleMessage(RankId rank, const run::Message& message);
    void greet(const run::AgentHello& hello);
    void noteRank(RankId rank, const run::Message& message);
    void noteFailure(RankId rank);
    void agentLost(const std::string& how);
    std::string agentEndText();
    void keepTime();
    void endAgent();
    [[nodiscard]] Error rankError(RankId rank) const;
    void concludeRanks();

    RunRequest m_request;
    RunSink& m_sink;
    std::vector<Watch> m_watches;
    FrameChannel m_agent;
    pid_t m_agentPid = -1;
    std::string m_host = "this host";
    bool m_greeted = false;
    bool m_launched = false;
    bool m_stopWanted = false;  ///< perhaps before there is anything to stop
    bool m_done = false;
    std::vector<RankState> m_ranks;
    std::optional<RankId> m_firstFailed;
    Clock::time_point m_failedAt;
    std::optional<Clock::time_point> m_killAt;
    Clock::time_point m_lastHeard;
    Clock::time_point m_lastTurn;
    Clock::time_point m_nextHeartbeat;
    RunOutcome m_outcome;
};

}  // namespace shardscope::launch
