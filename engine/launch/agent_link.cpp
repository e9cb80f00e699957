#include "engine/launch/agent_link.h"

#include "storage/model/host_clock.h"

namespace shardscope::launch {

Result<void> AgentLink::start() {
    auto started = m_run.start();
    if (!started) return failure(started);
    m_transport = std::move(*started);
    m_channel = m_transport->takeChannel();
    m_lastHeard = Clock::now();
    return {};
}

void AgentLink::end() {
    if (m_transport) m_transport->end();
}

std::string AgentLink::name() const {
    if (!m_run.name.empty()) return m_run.name;
    return hello ? hello->host.name : "this host";
}

void AgentLink::addPolls(std::vector<pollfd>& polls) const {
    m_channel.addPolls(polls, true);
    if (m_transport) m_transport->addPolls(polls);
}

Result<void> AgentLink::receive(std::vector<run::Frame>& frames) {
    auto received = m_channel.receive(frames);
    if (!frames.empty()) m_lastHeard = Clock::now();
    return received;
}

std::vector<std::string> AgentLink::takeErrorLines() {
    return m_transport ? m_transport->takeErrorLines() : std::vector<std::string>();
}

bool AgentLink::kill() {
    return m_transport && hello && m_transport->kill(hello->pid);
}

void AgentLink::askTime() {
    if (isLocal()) return;
    const std::int64_t nowNs = hostNow();
    if (const auto question = m_watch ? m_watch->ask(nowNs) : m_clock.ask(nowNs)) {
        send(*question);
        m_channel.flush();
    }
}

std::optional<ClockUpdate> AgentLink::take(const run::ClockAnswer& answer) {
    const std::int64_t nowNs = hostNow();
    std::optional<ClockUpdate> update;
    if (m_watch)
        update = m_watch->take(answer, nowNs);
    else
        m_clock.take(answer, nowNs);
    askTime();
    return update;
}

void AgentLink::watchClock(std::int64_t recordingNs) {
    if (isLocal()) return;
    m_watch = std::make_unique<ClockWatch>(m_host, recordingNs + aheadNs(), recordingNs,
                                           m_clock.bounds(), hostNow());
}

void AgentLink::askLastTime() {
    if (!m_watch) return;
    m_watch->askLastTime(hostNow());
    askTime();
}

bool AgentLink::clockIsSettled() const {
    return !m_watch || m_watch->over(hostNow());
}

}  // namespace shardscope::launch
