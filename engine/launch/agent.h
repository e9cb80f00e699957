// The far end of a run on each host: starts ranks, passes their frames on, cleans up.
//
// One thread, one poll loop. Ends when all ranks have (and a recorder of another host, which may
// still ask for the time, has closed its end), when the recorder closes its end, or when one of
// another host has been silent for the length of a lease; no rank outlives it.
#pragma once

#include "engine/launch/agent_file.h"
#include "engine/launch/event_sender.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/host_preparation.h"
#include "engine/launch/program/program_supervisor.h"
#include "engine/launch/rank_process.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/run/protocol/messages.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

struct AgentTimes {
    std::chrono::milliseconds heartbeat = kHeartbeatInterval;
    std::chrono::milliseconds lease = kLease;
    std::chrono::milliseconds leaseBeforeTheStart = kLeaseBeforeTheStart;
    std::chrono::milliseconds graceAfterFailure = kGraceAfterFailure;
    /// False where the recorder is on this host: that it is gone shows at once, by the end of the
    /// stream, so one that is silent was only stopped (Ctrl-Z) and is waited for.
    bool leased = true;
    /// Where events may wait for a slow link; empty: in memory only.
    std::string spillFolder{};
    /// Of agent files (agent_file.h), on this host; empty: none is written.
    std::string stateFolder{};
    std::size_t heldInMemory = BacklogLimits{}.memory;  ///< of them, bytes
};

class Agent {
public:
    /// `product` is this build's name and version, sent to the recorder. `sumWords` are a program
    /// and its arguments which, given a path besides, prints the run::DataChecked of it. `terms`:
    /// of an agent that a task has started for a recorder on another host (tasks/agent_terms.h);
    /// none: the recorder is this user's, on this host or through ssh, and may ask for anything.
    Agent(FrameChannel recorder, std::string product, const AgentTimes& times = {},
          std::vector<std::string> sumWords = {"/bin/false"},
          std::optional<run::TaskTerms> terms = std::nullopt);

    /// Of ranks of a program that is recorded here.
    void setPeak(ProgramPeak peak) { m_peak = std::move(peak); }
    /// Runs to the end; the process's exit status: kLaunch where the recorder was lost, or asked
    /// for more than the terms allow.
    int run();

private:
    using Clock = std::chrono::steady_clock;

    void poll();
    void takeFromRecorder();
    void handle(const run::Frame& frame);
    void prepare(const run::PrepareRequest& request);
    void findPeers(const run::PeersRequest& request);
    void turnPreparation();
    void sumUp(const run::DataRequest& request);
    void turnSum();
    void launch(const run::LaunchRequest& request);
    int recordProgram();
    Result<void> keepToTerms(const run::LaunchRequest& request);
    Result<void> startRanks(const run::LaunchRequest& request);
    [[nodiscard]] Result<run::MeetingPoint> meetingOf(const run::LaunchRequest& request) const;
    [[nodiscard]] std::string rankProgram(const run::LaunchRequest& request) const;
    void takeFromRanks();
    void takeFromRank(RankProcess& rank);
    void tellOfRanks();
    void excuseRanks();
    void noteEnd(RankProcess& rank);
    void keepTime();
    void tellRanks(const run::Message& message);
    void killRanks();
    void takeOver();
    void setUp(const run::RunConfig& config);
    [[nodiscard]] bool anyRunning() const;

    FrameChannel m_recorder;
    EventSender m_events;  ///< through m_recorder
    std::string m_product;
    AgentTimes m_times;
    std::vector<std::string> m_sumWords;
    std::optional<run::TaskTerms> m_terms;
    bool m_refused = false;   ///< what goes beyond them
    bool m_sawPeers = false;  ///< once is enough
    std::string m_reachedAt;
    std::optional<HostPreparation> m_preparation;  ///< of several hosts, until ranks start
    ProgramPeak m_peak;
    std::optional<run::ProgramLaunch> m_program;  ///< it does nothing but record a program
    std::optional<AgentFile> m_file;
    std::optional<ChildProcess> m_sum;  ///< sums up the data
    std::string m_summed;               ///< what it has said so far
    FileDescriptor m_segment;
    KillCauses m_killCauses;
    std::vector<RankProcess> m_ranks;
    bool m_heard = false;  ///< the recorder has said something
    bool m_launched = false;
    bool m_closing = false;  ///< recorder gone or silent
    Clock::time_point m_lastHeard;
    Clock::time_point m_nextHeartbeat;
    Clock::time_point m_lastTurn = Clock::now();
    std::optional<Clock::time_point> m_killAt;
};

}  // namespace shardscope::launch
