#include "engine/launch/hosts_start.h"

#include "engine/network/peer_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::launch {
namespace {

std::string randomToken() {
    return network::drawNonce().substr(0, network::PeerAnswerer::kTokenBytes);
}

/// By --send-data, into a folder of its own.
bool wasSent(const std::string& path) {
    return path.find("/shardscope/sent-") != std::string::npos;
}

template <class Said>
bool all(const std::vector<AgentLink>& links, Said said) {
    return std::all_of(links.begin(), links.end(), said);
}

}  // namespace

HostsStart::HostsStart(std::vector<AgentLink>& links, std::string data)
    : m_links(links), m_data(std::move(data)), m_token(randomToken()), m_key(network::drawKey()) {}

Result<void> HostsStart::advance() {
    for (AgentLink& link : m_links)
        if (link.hello) link.askTime();
    if (!several()) return {};
    if (!all(m_links, [](const AgentLink& link) { return link.hello.has_value(); })) return {};
    if (auto same = checkData(); !same) return same;
    if (auto prepared = prepare(); !prepared) return prepared;
    if (!all(m_links, [](const AgentLink& link) { return link.prepared.has_value(); })) return {};
    return checkPeers();
}

/// Host 0 first: the others choose the way that leads to it.
Result<void> HostsStart::prepare() {
    AgentLink& first = m_links.front();
    askToPrepare(first, first.hello->reachedAt.empty() ? somebodyElse() : "");
    for (const AgentLink& link : m_links) {
        if (!link.prepared || link.prepared->failure.empty()) continue;
        return failure(ErrorCode::kLaunch,
                       fmt::format("{}: {}", link.name(), link.prepared->failure));
    }
    if (!first.prepared) return {};
    for (AgentLink& link : m_links) askToPrepare(link, first.prepared->address);
    return {};
}

void HostsStart::askToPrepare(AgentLink& link, const std::string& towards) const {
    if (std::exchange(link.askedToPrepare, true)) return;
    link.send(run::PrepareRequest{link.host(), link.run().interface, towards, m_token,
                                  link.run().needBytes});
}

/// Where another host was reached: the way there is the one that counts.
std::string HostsStart::somebodyElse() const {
    for (const AgentLink& link : m_links)
        if (!link.hello->reachedAt.empty()) return link.hello->reachedAt;
    return {};
}

Result<void> HostsStart::checkPeers() {
    for (AgentLink& link : m_links) {
        if (std::exchange(link.askedForPeers, true)) continue;
        run::PeersRequest request;
        for (const AgentLink& other : m_links)
            if (&other != &link)
                request.peers.push_back(
                    {other.name(), other.prepared->address, other.prepared->checkPort});
        link.send(request);
    }
    std::string unreached;
    for (const AgentLink& link : m_links) {
        if (!link.checked) return {};
        for (const std::string& sentence : link.checked->failures)
            unreached += fmt::format("{}{} does not reach {}", unreached.empty() ? "" : "; ",
                                     link.name(), sentence);
    }
    if (unreached.empty()) return {};
    return failure(ErrorCode::kLaunch,
                   unreached +
                       ". Name interfaces that join the hosts (interface=NAME in the list "
                       "of hosts, or --interface), and open their ports to each other");
}

/// Against the first host's. While the sums are computed, which may take long, all else goes on.
Result<void> HostsStart::checkData() {
    if (m_data.empty()) return {};
    for (AgentLink& link : m_links)
        if (!std::exchange(link.askedForData, true)) link.send(run::DataRequest{dataOf(link)});
    const AgentLink& first = m_links.front();
    for (const AgentLink& link : m_links) {
        if (!link.data) continue;
        if (!link.data->failure.empty())
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{}: {}", link.name(), link.data->failure));
        if (!first.data || link.data->checksum == first.data->checksum) continue;
        if (wasSent(dataOf(link)) || wasSent(dataOf(first)))
            return failure(
                ErrorCode::kUnreadable,
                fmt::format("what was sent to {} on {}, or to {} on {}, has been changed "
                            "while this run started; start again, and it is sent there again",
                            dataOf(link), link.name(), dataOf(first), first.name()));
        return failure(
            ErrorCode::kUnreadable,
            fmt::format("the data {} on {} is not what {} is on {}: {} bytes with "
                        "checksum {:.12}, and {} bytes with {:.12}; copy one of them, "
                        "name the right one (data= in the list of hosts, --data-root), "
                        "or have it sent (--send-data)",
                        dataOf(link), link.name(), dataOf(first), first.name(), link.data->bytes,
                        link.data->checksum, first.data->bytes, first.data->checksum));
    }
    return {};
}

const std::string& HostsStart::dataOf(const AgentLink& link) const {
    return link.run().data.empty() ? m_data : link.run().data;
}

bool HostsStart::ready() const {
    return all(m_links, [this](const AgentLink& link) {
        return link.hello && link.knowsTime() &&
               (!several() || (link.checked && (m_data.empty() || link.data)));
    });
}

run::MeetingPoint HostsStart::meeting(const AgentLink& link) const {
    if (!several()) return {};
    const run::HostPrepared& first = *m_links.front().prepared;
    return {first.address, first.meetingPort, network::toHex(link.veil(m_key))};
}

}  // namespace shardscope::launch
