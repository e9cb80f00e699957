#include "engine/launch/ssh/connect_hosts.h"

#include "engine/launch/ssh/host_connector.h"

#include <poll.h>

#include <algorithm>
#include <memory>

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

}  // namespace shardscope::launch
