// Whether hosts reach each other over TCP at the addresses that their ranks are going to use.
//
// One side answers every peer that connects and knows the token, the other connects to all at once.
// Both live in a poll loop and never wait. One thread.
#pragma once

#include "engine/network/network_interface.h"
#include "storage/model/result.h"

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::network {

/// Answers others at a listener of its own.
class PeerAnswerer {
public:
    /// `token`: what both sides know, kTokenBytes long; a connection that says something else is
    /// closed without an answer.
    PeerAnswerer(Listener listener, std::string token);
    ~PeerAnswerer();
    PeerAnswerer(PeerAnswerer&& other) noexcept;
    PeerAnswerer& operator=(PeerAnswerer&&) = delete;

    static constexpr std::size_t kTokenBytes = 16;

    [[nodiscard]] int port() const { return m_listener.port; }
    void addPolls(std::vector<pollfd>& polls) const;
    /// Accepts, reads, answers, as far as nothing has to be waited for.
    void turn();

private:
    struct Guest {
        int fd = -1;
        std::string heard;
    };
    /// Only peers are expected; a connection that says nothing makes room for the next.
    static constexpr std::size_t kMostGuests = 256;

    void acceptOne(int fd);
    [[nodiscard]] bool serve(Guest& guest) const;

    Listener m_listener;
    std::string m_token;
    std::vector<Guest> m_guests;
};

/// Connects to peers and asks for their answers.
class PeerCheck {
public:
    struct Peer {
        std::string name, address;
        std::int32_t port = 0;
    };
    using Clock = std::chrono::steady_clock;

    PeerCheck(const std::vector<Peer>& peers, std::string token,
              std::chrono::milliseconds patience);
    ~PeerCheck();
    PeerCheck(PeerCheck&&) noexcept = default;
    PeerCheck& operator=(PeerCheck&&) = delete;

    void addPolls(std::vector<pollfd>& polls) const;
    void turn();
    [[nodiscard]] bool done() const;
    /// When done(): a sentence for each peer that was not reached.
    [[nodiscard]] std::vector<std::string> failures() const;

private:
    struct Attempt {
        Peer peer;
        int fd = -1;  ///< -1: it has ended
        bool sent = false;
        std::string heard;
        std::string failure;
    };

    void begin(Attempt& attempt) const;
    void serve(Attempt& attempt) const;
    void end(Attempt& attempt, const std::string& why) const;

    std::string m_token;
    std::chrono::milliseconds m_patience;
    Clock::time_point m_until;
    std::vector<Attempt> m_attempts;
};

}  // namespace shardscope::network
