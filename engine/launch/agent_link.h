// The recorder's end of one agent: its frames, what it has said of its host, when it was heard.
// Lives in the recorder's poll loop.
#pragma once

#include "engine/launch/agent_transport.h"
#include "engine/launch/clock_model.h"
#include "engine/launch/frame_channel.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

/// Part of a run that one host does.
struct HostRun {
    std::string name;         ///< as the user called it; empty: this host
    std::string interface;    ///< of its ranks' connections; empty: towards the others
    std::string rankProgram;  ///< there; empty: beside the agent
    std::string data;         ///< what the run's data is called there; empty: as everywhere
    std::int64_t segmentBytes = 0;
    std::int64_t needBytes = 0;  ///< memory that its ranks take by theory; 0: not known
    std::map<std::string, std::string> environment;
    std::function<Result<std::unique_ptr<AgentTransport>>()> start;
};

class AgentLink {
public:
    using Clock = std::chrono::steady_clock;

    AgentLink(std::int32_t host, HostRun run) : m_host(host), m_run(std::move(run)) {}

    Result<void> start();
    /// Ends the agent.
    void closeStream() { m_channel.close(); }
    /// Waits until it is gone, after closeStream().
    void end();

    [[nodiscard]] std::int32_t host() const { return m_host; }
    [[nodiscard]] const HostRun& run() const { return m_run; }
    /// For sentences and the recording.
    [[nodiscard]] std::string name() const;
    [[nodiscard]] bool isLocal() const { return m_transport && m_transport->isLocal(); }

    void addPolls(std::vector<pollfd>& polls) const;
    /// What has come; an error, or a closed channel, is the end of it.
    Result<void> receive(std::vector<run::Frame>& frames);
    void send(const run::Message& message) { m_channel.send(run::kNoRank, message); }
    void flush() { m_channel.flush(); }
    [[nodiscard]] network::Key veil(const network::Key& key) const { return m_channel.veil(key); }
    [[nodiscard]] bool isOpen() const { return m_channel.isOpen(); }
    [[nodiscard]] std::vector<std::string> takeErrorLines();
    [[nodiscard]] std::string endText() { return m_transport->endText(); }

    /// For how long nothing was heard.
    [[nodiscard]] Clock::duration silence() const { return Clock::now() - m_lastHeard; }
    /// It is known to be stopped, and may go on at any time.
    [[nodiscard]] bool isStopped() const { return m_transport && m_transport->isStopped(); }
    /// Of another host, once it has greeted: ends it there. False: it may still be there.
    [[nodiscard]] bool kill();
    /// We stood still ourselves: that was no silence of the agent's.
    void excuse(Clock::duration pause) { m_lastHeard += pause; }

    /// Goes on asking for the time; done at once where it is our own.
    void askTime();
    /// What the clock of the host is found to be, at the end of each round of questions.
    std::optional<ClockUpdate> take(const run::ClockAnswer& answer);
    [[nodiscard]] bool knowsTime() const { return isLocal() || m_clock.done(); }
    /// The host's clock less ours, and the bound on its error.
    [[nodiscard]] std::int64_t aheadNs() const { return isLocal() ? 0 : m_clock.aheadNs(); }
    [[nodiscard]] std::int64_t clockErrorNs() const { return isLocal() ? 0 : m_clock.errorNs(); }

    /// Its ranks are started: from now on clocks are compared again and again, not with our own.
    /// `recordingNs`: our clock at the recording clock's zero.
    void watchClock(std::int64_t recordingNs);
    /// Its ranks have ended: asks once more.
    void askLastTime();
    /// Nothing more is asked of an agent whose ranks have ended.
    [[nodiscard]] bool clockIsSettled() const;

    // What the agent has said so far.
    std::optional<run::AgentHello> hello;
    std::optional<run::HostPrepared> prepared;
    std::optional<run::PeersChecked> checked;
    std::optional<run::DataChecked> data;
    std::int64_t takenBytes = 0;  ///< of its frames of events
    // What it was asked.
    bool askedToPrepare = false;
    bool askedForPeers = false;
    bool askedForData = false;
    std::int64_t toldTaken = 0;  ///< of takenBytes
    bool saidSilent = false;
    bool done = false;  ///< its ranks have ended
    bool over = false;  ///< and its clock is known, or it is lost

private:
    std::int32_t m_host;
    HostRun m_run;
    std::unique_ptr<AgentTransport> m_transport;
    FrameChannel m_channel;
    ClockExchange m_clock;
    std::unique_ptr<ClockWatch> m_watch;  ///< once ranks have started elsewhere
    Clock::time_point m_lastHeard = Clock::now();
};

}  // namespace shardscope::launch
