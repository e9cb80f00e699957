#include "engine/launch/host_preparation.h"

#include "engine/launch/host_facts.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

namespace shardscope::launch {
namespace {

Result<std::string> chosenAddress(const run::PrepareRequest& request,
                                  const std::string& reachedAt) {
    if (!request.interface.empty()) return network::addressOf(request.interface);
    if (!request.towards.empty()) return network::addressTowards(request.towards);
    if (!reachedAt.empty()) return reachedAt;
    return failure(ErrorCode::kLaunch,
                   "the other hosts' way to this one is not known; name its network interface");
}

/// Of memory, as theory has it.
Result<void> hasRoom(std::int64_t needBytes) {
    const std::optional<Bytes> free = freeMemory();
    if (!free || free->count >= needBytes) return {};
    return failure(
        ErrorCode::kLaunch,
        fmt::format("its ranks take {} MB of memory by theory, and {} MB are free; place "
                    "fewer ranks there (slots=), or make batch, context or model smaller",
                    needBytes / 1'000'000, free->count / 1'000'000));
}

}  // namespace

std::string reachedAddress() {
    const char* connection = std::getenv("SSH_CONNECTION");
    if (connection == nullptr) return {};
    std::istringstream words(connection);
    std::string theirs, theirPort, ours;
    words >> theirs >> theirPort >> ours;
    return ours;
}

Result<HostPreparation> HostPreparation::begin(const run::PrepareRequest& request,
                                               const std::string& reachedAt) {
    if (request.token.size() != network::PeerAnswerer::kTokenBytes)
        return failure(ErrorCode::kLaunch, "the recorder sent no token for the other agents");
    if (auto enough = hasRoom(request.needBytes); !enough) return failure(enough);
    auto address = chosenAddress(request, reachedAt);
    if (!address) return failure(address);
    auto listener = network::listenOn(*address);
    if (!listener) return failure(listener);
    HostPreparation made(*address, network::PeerAnswerer(*listener, request.token), request.token);
    if (request.host != 0) return made;
    auto meeting = network::listenOn(*address);
    if (!meeting) return failure(meeting);
    made.m_meeting = FileDescriptor(meeting->fd);
    made.m_meetingPort = meeting->port;
    return made;
}

run::HostPrepared HostPreparation::answer() const {
    return {m_address, m_meetingPort, m_answerer.port(), {}, freeMemory().value_or(Bytes{}).count};
}

void HostPreparation::check(const run::PeersRequest& request, std::chrono::milliseconds patience) {
    std::vector<network::PeerCheck::Peer> peers;
    for (const run::PeerAddress& peer : request.peers)
        peers.push_back({peer.name, peer.address, peer.port});
    m_check.emplace(peers, m_token, patience);
}

void HostPreparation::addPolls(std::vector<pollfd>& polls) const {
    m_answerer.addPolls(polls);
    if (m_check) m_check->addPolls(polls);
}

void HostPreparation::turn() {
    m_answerer.turn();
    if (m_check) m_check->turn();
}

std::optional<run::PeersChecked> HostPreparation::takeChecked() {
    if (!m_check || !m_check->done()) return std::nullopt;
    run::PeersChecked checked{m_check->failures()};
    m_check.reset();
    return checked;
}

}  // namespace shardscope::launch
