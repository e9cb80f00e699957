#include "engine/launch/tasks/task_socket.h"

#include "engine/network/network_interface.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace shardscope::launch {
namespace {

constexpr int kBacklog = 1024;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<Addresses> resolve(const std::string& name, std::int32_t port, int flags) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    const std::string service = std::to_string(port);
    if (const int error = ::getaddrinfo(name.c_str(), service.c_str(), &hints, &found); error != 0)
        return failure(ErrorCode::kLaunch, fmt::format("{}: {}", name, ::gai_strerror(error)));
    return Addresses(found, &::freeaddrinfo);
}

std::string textOf(const sockaddr* address, socklen_t size) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return {};
    return text.data();
}

bool isLoopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

bool isNumeric(const std::string& name) {
    return resolve(name, 1, AI_NUMERICHOST).has_value();
}

/// In the network's own name space: no file, gone with the last socket.
std::pair<sockaddr_un, socklen_t> localAddress(const TaskSecret& secret) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "shardscope-" + secret.place;
    const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)};
}

void set(int fd, int level, int name, int value) {
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

/// A host that is cut off is noticed although nobody has anything to say.
void keepAlive(int fd) {
    constexpr int kIdle = 5, kInterval = 3, kProbes = 3;
    static_assert(kIdle + kInterval * kProbes < kTaskLease.count());
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// A socket of the same user at the other end; others may connect to a name that is no file.
bool isOwnUser(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return true;
    return peer.uid == ::geteuid();
}

bool isLocal(int fd) {
    int family = 0;
    socklen_t size = sizeof family;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_UNIX;
}

Result<FileDescriptor> listenAt(int family, const sockaddr* address, socklen_t size,
                                const std::string& name) {
    FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.valid()) set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (!fd.valid() || ::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), kBacklog) != 0)
        return failure(ErrorCode::kLaunch,
                       fmt::format("the other tasks cannot be met at {}: {}; choose another "
                                   "MASTER_PORT, alike for all tasks",
                                   name, std::strerror(errno)));
    return fd;
}

Result<void> listenAtAddress(const std::string& address, std::int32_t port,
                             std::vector<FileDescriptor>& listeners) {
    const auto found = resolve(address, port, AI_NUMERICHOST);
    if (!found) return failure(found);
    auto fd = listenAt((*found)->ai_family, (*found)->ai_addr, (*found)->ai_addrlen,
                       fmt::format("{} port {}", address, port));
    if (!fd) return failure(fd);
    listeners.push_back(std::move(*fd));
    return {};
}

/// Of this host. Its own name may stand for loopback in its own table of names, and an operator may
/// call it localhost there: then the one address by which others can reach it is meant too.
Result<std::vector<std::string>> addressesMeant(const TaskPlace& place) {
    const auto found = resolve(place.address, place.port, 0);
    if (!found)
        return failure(ErrorCode::kLaunch, fmt::format("MASTER_ADDR {}", found.error().message));
    std::vector<std::string> meant;
    for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
        std::string address = textOf(each->ai_addr, each->ai_addrlen);
        const bool ours = isLoopback(address) || network::interfaceOf(address).has_value();
        if (ours && std::find(meant.begin(), meant.end(), address) == meant.end())
            meant.push_back(std::move(address));
    }
    const bool outside = std::any_of(meant.begin(), meant.end(),
                                     [](const std::string& each) { return !isLoopback(each); });
    if (outside || isNumeric(place.address)) return meant;
    std::vector<std::string> others;
    for (std::string& each : network::ownAddresses())
        if (!isLoopback(each)) others.push_back(std::move(each));
    if (others.size() == 1) meant.push_back(others.front());
    return meant;
}

Result<int> begin(int family, const sockaddr* address, socklen_t size) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return failure(ErrorCode::kLaunch, std::strerror(errno));
    if (::connect(fd, address, size) == 0 || errno == EINPROGRESS) return fd;
    const int error = errno;
    ::close(fd);
    return failure(ErrorCode::kLaunch, std::strerror(error));
}

Result<FileDescriptor> finish(FileDescriptor fd, std::chrono::milliseconds patience) {
    pollfd ready{fd.get(), POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t size = sizeof error;
    if (::poll(&ready, 1, static_cast<int>(patience.count())) > 0)
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failure(ErrorCode::kLaunch, std::strerror(error));
    return fd;
}

}  // namespace

TaskLine::TaskLine(FileDescriptor socket) : m_socket(std::move(socket)) {
    ::fcntl(m_socket.get(), F_SETFL, ::fcntl(m_socket.get(), F_GETFL) | O_NONBLOCK);
}

std::optional<std::string> TaskLine::take() {
    std::array<char, kLongestTaskLine> seen;
    while (isOpen()) {
        const ssize_t count = ::recv(fd(), seen.data(), seen.size(), MSG_PEEK);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
        if (count <= 0) break;
        const std::string_view text(seen.data(), static_cast<std::size_t>(count));
        const std::size_t end = text.find('\n');
        const std::size_t wanted = end == text.npos ? text.size() : end + 1;
        if (::recv(fd(), seen.data(), wanted, 0) != static_cast<ssize_t>(wanted)) break;
        m_partial += text.substr(0, std::min(end, text.size()));
        if (m_partial.size() > kLongestTaskLine) break;
        if (end != text.npos) return std::exchange(m_partial, {});
    }
    close();
    return std::nullopt;
}

void TaskLine::send(const std::string& line) {
    if (!isOpen()) return;
    const auto size = static_cast<ssize_t>(line.size());
    // What came before a reset may still be there to be read, and its end closes.
    if (::send(fd(), line.data(), line.size(), MSG_NOSIGNAL) != size) ::shutdown(fd(), SHUT_WR);
}

Result<std::vector<FileDescriptor>> listenForTasks(const TaskPlace& place, const TaskSecret& secret,
                                                   const std::string& interface) {
    std::vector<FileDescriptor> listeners;
    if (place.onOneHost()) {
        const auto [address, size] = localAddress(secret);
        auto fd = listenAt(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), size,
                           "this host (another run has the same)");
        if (!fd) return failure(fd);
        listeners.push_back(std::move(*fd));
        return listeners;
    }
    std::vector<std::string> addresses;
    if (interface.empty()) {
        auto meant = addressesMeant(place);
        if (!meant) return failure(meant);
        addresses = std::move(*meant);
    } else {
        auto named = network::addressOf(interface);
        if (!named) return failure(named, "--interface");
        addresses.push_back(std::move(*named));
    }
    if (addresses.empty())
        return failure(ErrorCode::kLaunch,
                       fmt::format("MASTER_ADDR {} is no address of this host, which has rank 0; "
                                   "set it to the host of rank 0, or name this host's network "
                                   "interface with --interface",
                                   place.address));
    for (const std::string& address : addresses)
        if (auto done = listenAtAddress(address, place.port, listeners); !done)
            return failure(done);
    return listeners;
}

FileDescriptor acceptTask(int listener) {
    while (true) {
        FileDescriptor fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd.valid()) return fd;
        if (!isLocal(fd.get())) keepAlive(fd.get());
        if (!isLocal(fd.get()) || isOwnUser(fd.get())) return fd;
    }
}

Result<FileDescriptor> connectToFirst(const TaskPlace& place, const TaskSecret& secret,
                                      std::chrono::milliseconds patience) {
    if (place.onOneHost()) {
        const auto [address, size] = localAddress(secret);
        auto fd = begin(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), size);
        if (!fd) return failure(fd);
        FileDescriptor socket(*fd);
        if (!isOwnUser(*fd)) return failure(ErrorCode::kLaunch, "somebody else is there");
        return finish(std::move(socket), patience);
    }
    const auto found = resolve(place.address, place.port, 0);
    if (!found) return failure(found);
    Result<FileDescriptor> connected = failure(ErrorCode::kLaunch, "it has no address");
    for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
        auto fd = begin(each->ai_family, each->ai_addr, each->ai_addrlen);
        connected =
            fd ? finish(FileDescriptor(*fd), patience) : Result<FileDescriptor>(failure(fd));
        if (!connected) continue;
        keepAlive(connected->get());
        break;
    }
    return connected;
}

std::string ownAddressOf(int fd) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* any = reinterpret_cast<sockaddr*>(&own);
    if (isLocal(fd) || ::getsockname(fd, any, &size) != 0) return {};
    return textOf(any, size);
}

}  // namespace shardscope::launch
