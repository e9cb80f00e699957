// What an agent does before its ranks start where there are several hosts: chooses the address of
// their connections, listens for rank 0 on host 0, and finds out whether the hosts reach each
// other.
//
// Lives in the agent's poll loop; never waits.
#pragma once

#include "engine/network/peer_check.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

inline constexpr std::chrono::seconds kPeerPatience{10};

/// This host's address that its ssh server was reached at (SSH_CONNECTION); empty: by no ssh.
[[nodiscard]] std::string reachedAddress();

class HostPreparation {
public:
    /// An error says what to name instead.
    static Result<HostPreparation> begin(const run::PrepareRequest& request,
                                         const std::string& reachedAt);

    [[nodiscard]] const std::string& address() const { return m_address; }
    [[nodiscard]] run::HostPrepared answer() const;
    /// Where rank 0 is going to listen; -1 on other hosts.
    [[nodiscard]] int meetingFd() const { return m_meeting.valid() ? m_meeting.get() : -1; }

    void check(const run::PeersRequest& request,
               std::chrono::milliseconds patience = kPeerPatience);
    void addPolls(std::vector<pollfd>& polls) const;
    void turn();
    /// Once, when all peers have answered or will not.
    std::optional<run::PeersChecked> takeChecked();

private:
    HostPreparation(std::string address, network::PeerAnswerer answerer, std::string token)
        : m_address(std::move(address)),
          m_answerer(std::move(answerer)),
          m_token(std::move(token)) {}

    std::string m_address;
    network::PeerAnswerer m_answerer;
    std::string m_token;
    FileDescriptor m_meeting;
    int m_meetingPort = 0;
    std::optional<network::PeerCheck> m_check;
};

}  // namespace shardscope::launch
