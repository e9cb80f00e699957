// The recorder's side of a run: starts an agent on each host, hands on what ranks say, ends the
// run.
//
// One thread, one poll loop, run(). What to do with the ranks' words is the sink's business;
// RunOutcome says why the run ended.
#pragma once

#include "engine/launch/agent_link.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/hosts_start.h"
#include "engine/launch/rank_watch.h"
#include "engine/launch/run_control.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/host_facts.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope::capture {
struct CollectiveProgress;
}

namespace shardscope::launch {

/// Called from within RunSupervisor::run().
class RunSink {
public:
    virtual ~RunSink() = default;
    /// The agent of a host is there and of our version, and all hosts are ready: ranks are started
    /// next. With the host's number and its clock against the recording's.
    virtual void hostReady(const HostFacts& host) = 0;
    /// While its ranks run, and once after: a host's clock was compared with ours. Not of our own.
    virtual void clockCompared(const ClockFacts&) {}
    /// Everything a rank says, and RankStarted, RankExited and LogLine of its agent; and what is
    /// noticed of ranks that stand still, as diagnostics or log lines of theirs.
    virtual void message(RankId rank, const run::Message& message) = 0;
    virtual void chunk(RankId rank, std::span<const std::byte> bytes) = 0;
    /// The user asks for what a flight recorder holds.
    virtual bool keep() { return false; }
    /// The rank is one of that host's, before anything it says: of a program whose ranks are not
    /// known beforehand, on several hosts.
    virtual void rankIsOn(RankId, std::int32_t host) { static_cast<void>(host); }
    /// A rank of a program in its collectives. True: the sink looks for ranks that hold up others.
    virtual bool collectiveOpen(RankId, const capture::CollectiveProgress&) { return false; }
    /// What the agent of another host holds of its ranks' events, when that has changed.
    virtual void backlog(std::int32_t, const run::Backlog&) {}
    /// At least five times a second.
    virtual void tick() = 0;
};

struct RunRequest {
    run::LaunchRequest launch;   ///< of all hosts; what is a host's own is filled in from `hosts`
    std::vector<HostRun> hosts;  ///< one for each of launch.places
    std::chrono::milliseconds lease = kLease;  ///< that a host may be silent
};

struct RunOutcome {
    /// What ended the run before its last step, other than the user's wish.
    std::optional<Error> failure;
    std::optional<RankId> failedRank;  ///< the first one, by time
    /// The first host whose agent was lost once ranks were started; `failure` says how.
    std::optional<std::int32_t> lostHost;
    bool stopped = false;  ///< the user asked for it, and all ranks ended in order
    bool killed = false;   ///< the user asked for it
};

class RunSupervisor : public RunControl {
public:
    RunSupervisor(RunRequest request, RunSink& sink);
    ~RunSupervisor() override;  ///< no process of the run is left behind
    RunSupervisor(const RunSupervisor&) = delete;
    RunSupervisor& operator=(const RunSupervisor&) = delete;

    void watch(int fd, std::function<bool()> readable) override;

    RunOutcome run();

    void requestStop() override;  ///< after the current step
    void requestKill() override;
    void requestCapture(const CaptureChange& change) override;
    bool requestKeep() override { return m_sink.keep(); }
    void abandon(const Error& error) override;

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

    void startAgents();
    void poll();
    void takeFrom(AgentLink& link);
    void handle(AgentLink& link, const run::Frame& frame);
    void handleMessage(AgentLink& link, RankId rank, const run::Message& message);
    bool handleOwn(AgentLink& link, const run::Message& message);
    void greet(AgentLink& link, const run::AgentHello& hello);
    void advanceStart();
    void launchRanks();
    [[nodiscard]] run::LaunchRequest launchOf(const AgentLink& link) const;
    [[nodiscard]] HostFacts factsOf(const AgentLink& link) const;
    void noteRank(const AgentLink& link, RankId rank, const run::Message& message);
    void noteFailure(RankId rank);
    void watchRanks();
    [[nodiscard]] bool isEnding() const;
    void endFor(RankId rank);
    [[nodiscard]] std::vector<RankEvidence> evidence() const;
    [[nodiscard]] std::optional<RankId> culprit() const;
    [[nodiscard]] std::optional<Error> severedError() const;
    [[nodiscard]] Error culpritError(RankId culprit) const;
    [[nodiscard]] std::optional<std::size_t> witness(RankId culprit) const;
    void agentLost(AgentLink& link, const std::string& how);
    void finish();
    void keepTime();
    void hearNothing(AgentLink& link);
    void awaitStart();
    [[nodiscard]] std::string ranksOf(AgentLink& link) const;
    void tellTaken(AgentLink& link);
    void compareClocks();
    void takeTime(AgentLink& link, const run::ClockAnswer& answer);
    void tellAgents(const run::Message& message);
    void endAgents();
    [[nodiscard]] bool isOf(const AgentLink& link, RankId rank) const;
    [[nodiscard]] Error rankError(RankId rank) const;
    [[nodiscard]] bool waitedInVain(RankId rank) const;
    [[nodiscard]] bool lostItsPeer(RankId rank) const;
    void concludeRanks();

    RunRequest m_request;
    RunSink& m_sink;
    std::vector<Watch> m_watches;
    std::vector<AgentLink> m_agents;  ///< by host
    HostsStart m_start;
    bool m_launched = false;
    std::optional<Error> m_hostLost;  ///< how m_outcome.lostHost was
    bool m_stopWanted = false;        ///< perhaps before there is anything to stop
    bool m_done = false;
    std::vector<RankState> m_ranks;
    StandstillLimits m_limits;
    RankWatch m_rankWatch;
    Clock::time_point m_launchedAt;
    std::optional<RankId> m_heldUp;  ///< the rank that the run was ended for
    std::optional<RankId> m_firstFailed;
    Clock::time_point m_failedAt;
    std::optional<Clock::time_point> m_killAt;
    Clock::time_point m_lastTurn;
    Clock::time_point m_nextHeartbeat;
    RunOutcome m_outcome;
};

}  // namespace shardscope::launch
