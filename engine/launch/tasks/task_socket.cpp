#include "engine/launch/tasks/task_socket.h"

#include "engine/launch/agent_file.h"
#include "engine/network/network_interface.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr int kBacklog = 1024;
constexpr char kBeforeTag = '\t';

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

constexpr const char* kFolder = "tasks";

/// A socket file's address, by way of its folder's descriptor where the path is too long for one.
Result<sockaddr_un> localAddress(const std::string& file, const FileDescriptor& folder) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string path = file;
    if (path.size() >= sizeof address.sun_path)
        path = fmt::format("/proc/self/fd/{}/{}", folder.get(), file.substr(file.rfind('/') + 1));
    if (path.size() >= sizeof address.sun_path)
        return failure(ErrorCode::kLaunch, fmt::format("{} is too long for a socket", file));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

void set(int fd, int level, int name, int value) {
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

/// A host that is cut off is noticed although neither end has anything to say.
void keepAlive(int fd) {
    constexpr int kIdle = 5, kInterval = 3, kProbes = 3;
    static_assert(kIdle + kInterval * kProbes < kTaskLease.count());
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// A process of the same user at the other end.
bool isOwnUser(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
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

/// Where tasks of this host meet: a folder of this user's alone, and the socket's file in it.
struct LocalPlace {
    FileDescriptor folder;
    std::string file;
};
Result<LocalPlace> localPlace(const TaskSecret& secret) {
    auto path = makeUserFolder(kFolder);
    if (!path) return failure(path);
    LocalPlace place{FileDescriptor(::open(path->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                     fmt::format("{}/{}", *path, secret.place)};
    if (!place.folder.valid())
        return failure(ErrorCode::kLaunch, fmt::format("{}: {}", *path, std::strerror(errno)));
    return place;
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

Result<FileDescriptor> connectHere(const TaskSecret& secret, std::chrono::milliseconds patience) {
    const auto place = localPlace(secret);
    if (!place) return failure(place);
    const auto address = localAddress(place->file, place->folder);
    if (!address) return failure(address);
    auto fd = begin(AF_UNIX, reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
    if (!fd)
        return failure(ErrorCode::kLaunch,
                       fmt::format("nothing waits at {} ({}); if rank 0's task has a {}, give it "
                                   "to this one too",
                                   place->file, fd.error().message, kTaskToken));
    FileDescriptor socket(*fd);
    if (!isOwnUser(*fd)) return failure(ErrorCode::kLaunch, "another user's process is there");
    return finish(std::move(socket), patience);
}

/// A file that a killed run has left is in the way of no other.
Result<FileDescriptor> listenHere(const LocalPlace& place, const TaskSecret& secret) {
    const auto address = localAddress(place.file, place.folder);
    if (!address) return failure(address);
    // Two that begin at once must not remove each other's.
    ::flock(place.folder.get(), LOCK_EX);
    if (connectHere(secret, std::chrono::milliseconds(0)))
        return failure(ErrorCode::kLaunch,
                       "another run on this host is called the same and waits for its tasks; end "
                       "it, or choose another MASTER_PORT, alike for all tasks");
    if (::unlink(place.file.c_str()) != 0 && errno != ENOENT)
        return failure(ErrorCode::kLaunch, fmt::format("{} is in the way: {}; remove it",
                                                       place.file, std::strerror(errno)));
    auto fd = listenAt(AF_UNIX, reinterpret_cast<const sockaddr*>(&*address), sizeof *address,
                       place.file);
    ::flock(place.folder.get(), LOCK_UN);
    return fd;
}

/// Of the network: where the tasks of other hosts look.
Result<std::vector<std::string>> listenedAddresses(const TaskPlace& place,
                                                   const std::string& interface) {
    if (!interface.empty()) {
        auto named = network::addressOf(interface);
        if (!named) return failure(named, "--interface");
        return std::vector<std::string>{std::move(*named)};
    }
    auto meant = addressesMeant(place);
    if (meant && meant->empty())
        return failure(ErrorCode::kLaunch,
                       fmt::format("MASTER_ADDR {} is no address of this host, which has rank 0; "
                                   "set it to the host of rank 0, or name this host's network "
                                   "interface with --interface",
                                   place.address));
    return meant;
}

}  // namespace

TaskLine::TaskLine(FileDescriptor socket) : m_socket(std::move(socket)) {
    ::fcntl(m_socket.get(), F_SETFL, ::fcntl(m_socket.get(), F_GETFL) | O_NONBLOCK);
}

std::optional<std::string> TaskLine::take() {
    auto line = takeLine();
    if (!line || !m_seals) return line;
    const std::size_t end = line->rfind(kBeforeTag);
    if (end != line->npos) {
        const auto tag = line->substr(end + 1);
        line->resize(end);
        const network::Seal::Tag expected = m_seals->in.next(*line);
        if (network::equalSecrets(tag, network::toHex(expected))) return line;
    }
    close();
    return std::nullopt;
}

std::optional<std::string> TaskLine::takeLine() {
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
    std::string sent = line;
    if (m_seals) sent += kBeforeTag + network::toHex(m_seals->out.next(line));
    sent += '\n';
    const auto size = static_cast<ssize_t>(sent.size());
    // What came before a reset may still be there to be read, and its end closes.
    if (::send(fd(), sent.data(), sent.size(), MSG_NOSIGNAL) != size) ::shutdown(fd(), SHUT_WR);
}

TaskListeners::TaskListeners(TaskListeners&& other) noexcept
    : m_all(std::move(other.m_all)), m_file(std::exchange(other.m_file, {})) {}

TaskListeners& TaskListeners::operator=(TaskListeners&& other) noexcept {
    std::swap(m_all, other.m_all);
    std::swap(m_file, other.m_file);
    return *this;
}

void TaskListeners::close() {
    if (!m_file.empty()) ::unlink(m_file.c_str());
    m_file.clear();
    m_all.clear();
}

Result<TaskListeners> listenForTasks(const TaskPlace& place, const TaskSecret& secret,
                                     const std::string& interface) {
    TaskListeners listeners;
    if (place.onOneHost()) {
        auto local = localPlace(secret);
        if (!local) return failure(ErrorCode::kLaunch, local.error().message);
        auto fd = listenHere(*local, secret);
        if (!fd) return failure(fd);
        listeners.m_all.push_back(std::move(*fd));
        listeners.m_file = std::move(local->file);
        return listeners;
    }
    const auto addresses = listenedAddresses(place, interface);
    if (!addresses) return failure(addresses);
    for (const std::string& address : *addresses)
        if (auto done = listenAtAddress(address, place.port, listeners.m_all); !done)
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
    if (place.onOneHost()) return connectHere(secret, patience);
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

std::string peerNetworkOf(int fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    auto* any = reinterpret_cast<sockaddr*>(&peer);
    if (isLocal(fd) || ::getpeername(fd, any, &size) != 0) return {};
    if (peer.ss_family != AF_INET6) return textOf(any, size);
    auto* address = reinterpret_cast<sockaddr_in6*>(&peer);
    constexpr std::size_t kNetworkBytes = 8;
    if (IN6_IS_ADDR_V4MAPPED(&address->sin6_addr)) return textOf(any, size);
    std::memset(address->sin6_addr.s6_addr + kNetworkBytes, 0, kNetworkBytes);
    return textOf(any, size);
}

std::string ownAddressOf(int fd) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* any = reinterpret_cast<sockaddr*>(&own);
    if (isLocal(fd) || ::getsockname(fd, any, &size) != 0) return {};
    return textOf(any, size);
}

}  // namespace shardscope::launch
