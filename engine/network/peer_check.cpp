#include "engine/network/peer_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace shardscope::network {
namespace {

/// Appends what has come, up to `most` bytes in all. False: the other side is gone.
bool hear(int fd, std::string& heard, std::size_t most) {
    std::array<char, PeerAnswerer::kTokenBytes> buffer;
    while (heard.size() < most) {
        const ssize_t count = ::recv(fd, buffer.data(), most - heard.size(), MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        if (count == 0) return false;
        heard.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return true;
}

/// So few bytes fit into a new connection at once.
bool say(int fd, std::string_view text) {
    return ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

}  // namespace

PeerAnswerer::PeerAnswerer(Listener listener, std::string token)
    : m_listener(listener), m_token(std::move(token)) {
    ::fcntl(m_listener.fd, F_SETFL, O_NONBLOCK);
}

PeerAnswerer::PeerAnswerer(PeerAnswerer&& other) noexcept
    : m_listener(std::exchange(other.m_listener, {})),
      m_token(std::move(other.m_token)),
      m_guests(std::move(other.m_guests)) {}

PeerAnswerer::~PeerAnswerer() {
    if (m_listener.fd >= 0) ::close(m_listener.fd);
    for (const Guest& guest : m_guests) ::close(guest.fd);
}

void PeerAnswerer::addPolls(std::vector<pollfd>& polls) const {
    polls.push_back({m_listener.fd, POLLIN, 0});
    for (const Guest& guest : m_guests) polls.push_back({guest.fd, POLLIN, 0});
}

void PeerAnswerer::acceptOne(int fd) {
    if (m_guests.size() == kMostGuests) {
        ::close(m_guests.front().fd);
        m_guests.erase(m_guests.begin());
    }
    m_guests.push_back({fd, {}});
}

void PeerAnswerer::turn() {
    for (int fd = 0;
         (fd = ::accept4(m_listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
        acceptOne(fd);
    std::erase_if(m_guests, [this](Guest& guest) {
        if (serve(guest)) return false;
        ::close(guest.fd);
        return true;
    });
}

/// False: it has its answer, or will get none.
bool PeerAnswerer::serve(Guest& guest) const {
    if (!hear(guest.fd, guest.heard, kTokenBytes)) return false;
    if (guest.heard.size() < kTokenBytes) return true;
    if (guest.heard == m_token) static_cast<void>(say(guest.fd, m_token));
    return false;
}

PeerCheck::PeerCheck(const std::vector<Peer>& peers, std::string token,
                     std::chrono::milliseconds patience)
    : m_token(std::move(token)), m_patience(patience), m_until(Clock::now() + patience) {
    for (const Peer& peer : peers) {
        m_attempts.push_back({peer, -1, false, {}, {}});
        begin(m_attempts.back());
    }
}

PeerCheck::~PeerCheck() {
    for (const Attempt& attempt : m_attempts)
        if (attempt.fd >= 0) ::close(attempt.fd);
}

void PeerCheck::begin(Attempt& attempt) const {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    const std::string port = std::to_string(attempt.peer.port);
    if (const int error = ::getaddrinfo(attempt.peer.address.c_str(), port.c_str(), &hints, &found);
        error != 0)
        return end(attempt, ::gai_strerror(error));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
    attempt.fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (attempt.fd < 0) return end(attempt, std::strerror(errno));
    if (::connect(attempt.fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
        end(attempt, std::strerror(errno));
}

void PeerCheck::end(Attempt& attempt, const std::string& why) const {
    if (attempt.fd >= 0) ::close(attempt.fd);
    attempt.fd = -1;
    if (why.empty()) return;
    attempt.failure = fmt::format("{} at {} port {}: {}", attempt.peer.name, attempt.peer.address,
                                  attempt.peer.port, why);
}

void PeerCheck::addPolls(std::vector<pollfd>& polls) const {
    for (const Attempt& attempt : m_attempts)
        if (attempt.fd >= 0)
            polls.push_back({attempt.fd, static_cast<short>(attempt.sent ? POLLIN : POLLOUT), 0});
}

void PeerCheck::turn() {
    for (Attempt& attempt : m_attempts)
        if (attempt.fd >= 0) serve(attempt);
    if (Clock::now() < m_until) return;
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(m_patience);
    for (Attempt& attempt : m_attempts)
        if (attempt.fd >= 0)
            end(attempt, fmt::format("nothing came back within {} s", waited.count()));
}

void PeerCheck::serve(Attempt& attempt) const {
    if (!attempt.sent) {
        pollfd ready{attempt.fd, POLLOUT, 0};
        if (::poll(&ready, 1, 0) <= 0) return;
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(attempt.fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) return end(attempt, std::strerror(error));
        if (!say(attempt.fd, m_token)) return end(attempt, std::strerror(errno));
        attempt.sent = true;
    }
    const bool there = hear(attempt.fd, attempt.heard, PeerAnswerer::kTokenBytes);
    if (attempt.heard == m_token) return end(attempt, {});
    if (!there || attempt.heard.size() == PeerAnswerer::kTokenBytes)
        end(attempt, "another program answers there");
}

bool PeerCheck::done() const {
    return std::all_of(m_attempts.begin(), m_attempts.end(),
                       [](const Attempt& attempt) { return attempt.fd < 0; });
}

std::vector<std::string> PeerCheck::failures() const {
    std::vector<std::string> sentences;
    for (const Attempt& attempt : m_attempts)
        if (!attempt.failure.empty()) sentences.push_back(attempt.failure);
    return sentences;
}

}  // namespace shardscope::network
