#include "engine/launch/ssh/connect_hosts.h"

#include "engine/launch/ssh/host_connector.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/ssh_command.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

namespace shardscope::launch {
namespace {

/// A stock sshd drops logins at random once ten are going on.
constexpr std::size_t kAtATime = 8;
constexpr int kTurnMs = 100;

class Crowd {
public:
    Crowd(const std::vector<SshHost>& hosts, const SshOptions& options, const Payload& payload,
          ConnectObserver& observer, bool lookOnly)
        : m_observer(observer), m_told(hosts.size()) {
        for (const SshHost& host : hosts)
            m_connectors.push_back(
                std::make_unique<HostConnector>(host, options, payload, lookOnly));
    }

    std::vector<HostConnection> run() {
        while (m_observer.goOn()) {
            if (turn()) return take();
            wait();
        }
        for (auto& each : m_connectors) each->giveUp();
        std::vector<HostConnection> connections = take();
        for (HostConnection& each : connections)
            if (each.agent) each.agent->hangUp();
        for (HostConnection& each : connections) each.agent.reset();
        return connections;
    }

private:
    /// True when all are done.
    bool turn() {
        m_active.clear();
        for (std::size_t i = 0; i < m_connectors.size(); ++i) {
            HostConnector& each = *m_connectors[i];
            if (each.isDone() || m_active.size() == kAtATime) continue;
            each.turn();
            tell(i);
            if (!each.isDone()) m_active.push_back(&each);
        }
        return std::all_of(m_connectors.begin(), m_connectors.end(),
                           [](const auto& each) { return each->isDone(); });
    }

    void tell(std::size_t host) {
        const ConnectProgress& now = m_connectors[host]->progress();
        if (now == m_told[host]) return;
        m_told[host] = now;
        m_observer.progress(host, now);
    }

    void wait() {
        std::vector<pollfd> polls;
        for (HostConnector* each : m_active) each->addPolls(polls);
        ::poll(polls.data(), polls.size(), kTurnMs);
    }

    std::vector<HostConnection> take() {
        std::vector<HostConnection> connections;
        for (auto& each : m_connectors) connections.push_back(each->take());
        return connections;
    }

    ConnectObserver& m_observer;
    std::vector<std::unique_ptr<HostConnector>> m_connectors;
    std::vector<HostConnector*> m_active;  ///< those whose turn it is
    std::vector<ConnectProgress> m_told;
};

/// The agent kills its ranks and waits for them.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::seconds kStatusDelay{1};
/// For a session that ends an agent: its host may be out of reach as well.
constexpr std::chrono::seconds kKillPatience{6};
/// ssh's own status.
constexpr int kSshFailed = 255;

template <class Condition>
bool awaitFor(std::chrono::milliseconds patience, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
    return condition();
}

}  // namespace

std::vector<HostConnection> connectHosts(const std::vector<SshHost>& hosts,
                                         const SshOptions& options, const Payload& payload,
                                         ConnectObserver& observer) {
    return Crowd(hosts, options, payload, observer, false).run();
}

std::vector<HostConnection> lookAtHosts(const std::vector<SshHost>& hosts,
                                        const SshOptions& options, const Payload& payload,
                                        ConnectObserver& observer) {
    return Crowd(hosts, options, payload, observer, true).run();
}

SshAgent::SshAgent(SshMaster master, ChildProcess session, SshOptions options, SshHost host)
    : m_master(std::move(master)),
      m_session(std::move(session)),
      m_channel(std::move(m_session.output), std::move(m_session.input)),
      m_options(std::move(options)),
      m_host(std::move(host)) {}

SshAgent::~SshAgent() {
    close();
}

std::string SshAgent::endText() {
    // Its streams close a moment before its status can be had.
    awaitFor(kStatusDelay, [this] { return end().has_value(); });
    m_master.turn();
    if (!end()) return "it closed its streams";
    if (end()->signal) return "ssh was ended by " + signalText(*end()->signal);
    if (end()->code != kSshFailed)
        return fmt::format("it ended with status {}", end()->code.value_or(-1));
    // ssh ends alike when what it started was killed; then its connection does not end with it.
    if (!awaitFor(kStatusDelay, [this] { return m_master.hasEnded(); }))
        return "it was killed: its connection lives";
    m_master.turn();
    const std::string words = lastLineOf(m_master.words());
    return words.empty() ? "the connection was lost"
                         : fmt::format("the connection was lost ({})", words);
}

/// Another process may have its number by now.
bool SshAgent::kill(std::int64_t pid) {
    const std::string line = fmt::format(
        "tr '\\0' '\\n' </proc/{0}/cmdline 2>/dev/null | head -n 1 | grep -q '/shardscope$' || "
        "exit 0; "
        "kill -9 {0}; for i in 1 2 3; do kill -0 {0} 2>/dev/null || exit 0; sleep 1; done; exit 1",
        pid);
    auto killer = ChildProcess::start(
        sessionWords(m_options, m_host, m_master.socket(), throughLoginShell(line)));
    if (!killer) return false;
    killer->input.reset();
    std::string words;
    awaitFor(kKillPatience, [&] {
        readAvailable(killer->output, words, 64 * 1024);
        readAvailable(killer->errors, words, 64 * 1024);
        words.clear();
        return killer->end().has_value();
    });
    return killer->end() && killer->end()->code == 0;
}

void SshAgent::hangUp() {
    m_channel.close();
}

void SshAgent::close() {
    if (m_session.pid() < 0) return;  // moved from
    hangUp();
    const auto deadline = std::chrono::steady_clock::now() + kGrace;
    std::string words;
    while (!end() && std::chrono::steady_clock::now() < deadline) {
        // A full pipe would keep the agent from ending.
        readAvailable(m_session.errors, words, 64 * 1024);
        words.clear();
        ::poll(nullptr, 0, 5);
    }
    m_session.stop(SIGTERM, std::chrono::milliseconds(500));
    m_master.close();
}

}  // namespace shardscope::launch
