// The way to one host, step by step: connect, look, send what is missing, start the agent.
//
// Used from connectHosts()'s loop; nothing here waits.
#pragma once

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/connect_hosts.h"
#include "engine/launch/ssh/deployment.h"
#include "engine/launch/ssh/libtorch_fetch.h"
#include "engine/launch/ssh/ssh_master.h"
#include "engine/launch/ssh/ssh_session.h"

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class HostConnector {
public:
    /// All outlive it. `lookOnly`: is done when it has looked.
    HostConnector(const SshHost& host, const SshOptions& options, const Payload& payload,
                  bool lookOnly);

    /// What can be done now.
    void turn();
    void addPolls(std::vector<pollfd>& polls);
    void giveUp();

    [[nodiscard]] bool isDone() const {
        return m_progress.state == ConnectState::kReady ||
               m_progress.state == ConnectState::kFailed;
    }
    [[nodiscard]] const ConnectProgress& progress() const { return m_progress; }
    /// Once it is done.
    HostConnection take() { return std::move(m_connection); }

private:
    using Clock = std::chrono::steady_clock;

    void enter(ConnectState state, std::string detail = {});
    void fail(Error error);
    void connect();
    void awaitConnection();
    void noConnection();
    void askForKey();
    void setOffset(HostLook& found) const;
    void look();
    void awaitLook();
    [[nodiscard]] bool isAllThere() const;
    void afterLook();
    /// What the host is to have besides, or null.
    [[nodiscard]] const Package* data() const;
    [[nodiscard]] std::string whatIsSent(PackageKind kind) const;
    void send();
    void awaitSending();
    void fetch();
    void awaitFetching();
    void startAgent();
    void awaitAgent();
    /// Whether the session was refused and another try follows.
    bool waitsForASession();
    bool keepsAnswering(SshSession& session);
    void saySilence(const SshSession& session);

    const SshHost& m_host;
    const SshOptions& m_options;
    const Payload& m_payload;
    bool m_lookOnly;
    ConnectProgress m_progress;
    HostConnection m_connection;
    std::optional<SshMaster> m_master;
    std::optional<SshSession> m_session;
    std::optional<Deployment> m_deployment;
    std::optional<LibTorchFetch> m_fetch;
    const Package* m_sending = nullptr;
    bool m_libTorchTried = false;  ///< it was sent or fetched
    std::int64_t m_lookAsked = 0;  ///< wall clock, ns
    std::optional<std::int64_t> m_clockHeard;
    std::optional<ChildProcess> m_keyProbe;  ///< asks for the key that was not known
    std::string m_keyWords;
    std::string m_refusal;  ///< ssh's words that the key is asked for
    int m_tries = 0;
    Clock::time_point m_until;  ///< the next try; the end of patience with a login
};

}  // namespace shardscope::launch
