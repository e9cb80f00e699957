#include "engine/network/table_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace shardscope::network {
namespace {

/// Of connections that have proved nothing; the oldest makes room for the next.
constexpr std::size_t kMostStrangers = 256;
constexpr std::size_t kReadSize = 64 * 1024;

}  // namespace

TableServer::TableServer(Listener listener, const Key& key, int ranks, FileDescriptor own,
                         const SealPair& seals)
    : m_listener(listener.fd), m_key(key), m_ranks(ranks) {
    ::fcntl(m_listener.get(), F_SETFL, O_NONBLOCK);
    m_guests.push_back({std::move(own), TableGuest(seals)});
}

void TableServer::run() {
    while (true) {
        poll();
        acceptAll();
        for (Guest& guest : m_guests) serve(guest);
        if (!m_guests.front().socket.valid()) return;
        closeDoor();
        std::erase_if(m_guests, [](const Guest& guest) { return !guest.socket.valid(); });
    }
}

void TableServer::poll() const {
    std::vector<pollfd> polls;
    Clock::time_point next = Clock::now() + std::chrono::minutes(1);
    if (m_listener.valid()) polls.push_back({m_listener.get(), POLLIN, 0});
    for (const Guest& guest : m_guests) {
        const short output = guest.talk.output().empty() ? 0 : POLLOUT;
        polls.push_back({guest.socket.get(), static_cast<short>(POLLIN | output), 0});
        if (guest.waits) next = std::min(next, guest.until);
    }
    ::poll(polls.data(), polls.size(), millisecondsUntil(next));
}

void TableServer::acceptAll() {
    while (m_listener.valid()) {
        FileDescriptor socket(
            ::accept4(m_listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket.valid()) return;
        sendAtOnce(socket.get());
        makeRoom();
        m_guests.push_back({std::move(socket), TableGuest(m_key)});
    }
}

void TableServer::makeRoom() {
    const auto isStranger = [](const Guest& guest) { return !guest.talk.proven(); };
    const auto strangers = std::count_if(m_guests.begin(), m_guests.end(), isStranger);
    if (static_cast<std::size_t>(strangers) < kMostStrangers) return;
    m_guests.erase(std::find_if(m_guests.begin(), m_guests.end(), isStranger));
}

void TableServer::serve(Guest& guest) {
    bool goesOn = read(guest);
    while (goesOn && !guest.waits) {
        auto request = guest.talk.next();
        goesOn = request.has_value();
        if (!goesOn || !request->has_value()) break;
        handle(guest, std::move(**request));
    }
    if (guest.waits && Clock::now() >= guest.until) answer(guest, std::nullopt);
    if (!write(guest) || !goesOn) guest.socket.reset();
}

bool TableServer::read(Guest& guest) const {
    std::array<std::byte, kReadSize> buffer;
    const ssize_t count = ::recv(guest.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (count == 0) return false;
    return guest.talk.take(std::span(buffer).first(static_cast<std::size_t>(count)),
                           [&](int rank) { return complaintOf(rank); });
}

bool TableServer::write(Guest& guest) {
    std::string& output = guest.talk.output();
    if (output.empty()) return true;
    const ssize_t count =
        ::send(guest.socket.get(), output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    output.erase(0, static_cast<std::size_t>(count));
    return true;
}

std::string TableServer::complaintOf(int rank) const {
    if (rank >= m_ranks)
        return fmt::format("the run has {} ranks, and none that is rank {}", m_ranks, rank);
    const bool twice = std::any_of(m_guests.begin(), m_guests.end(), [rank](const Guest& each) {
        return each.talk.proven() && each.talk.rank() == rank;
    });
    return twice ? fmt::format("rank {} is there already", rank) : std::string();
}

void TableServer::handle(Guest& guest, TableRequest request) {
    const auto found = m_texts.find(request.name);
    if (request.kind == TableRequest::Kind::kGet) {
        if (found != m_texts.end()) return guest.talk.answer(found->second);
        guest.until = Clock::now() + std::chrono::milliseconds(request.patienceMs);
        guest.waits = std::move(request);
        return;
    }
    if (request.kind == TableRequest::Kind::kSetFirst && found != m_texts.end())
        return guest.talk.answer(found->second);
    m_texts[request.name] = request.value;
    guest.talk.answer(request.value);
    for (Guest& each : m_guests)
        if (each.waits && each.waits->name == request.name) answer(each, request.value);
}

void TableServer::answer(Guest& guest, const std::optional<std::string>& value) {
    guest.waits.reset();
    guest.talk.answer(value);
    if (!write(guest)) guest.socket.reset();
}

/// Once all ranks are there; strangers go with it.
void TableServer::closeDoor() {
    if (!m_listener.valid()) return;
    const auto proven = [](const Guest& guest) {
        return guest.socket.valid() && guest.talk.proven();
    };
    if (std::count_if(m_guests.begin(), m_guests.end(), proven) < m_ranks) return;
    m_listener.reset();
    for (Guest& guest : m_guests)
        if (!guest.talk.proven()) guest.socket.reset();
}

int millisecondsUntil(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void sendAtOnce(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace shardscope::network
