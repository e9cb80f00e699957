#include "engine/network/network_interface.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace shardscope::network {
namespace {

struct Interface {
    std::string name, address;
    bool v6 = false;
};

std::vector<Interface> interfaces() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, &::freeifaddrs);
    std::vector<Interface> found;
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
        const int family = each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::array<char, NI_MAXHOST> text{};
        if (::getnameinfo(each->ifa_addr, size, text.data(), text.size(), nullptr, 0,
                          NI_NUMERICHOST) != 0) {
            continue;
        }
        found.push_back({each->ifa_name, text.data(), family == AF_INET6});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Interface& a, const Interface& b) { return a.v6 < b.v6; });
    return found;
}

addrinfo numeric(int kind, int flags) {
    addrinfo hints{};
    hints.ai_socktype = kind;
    hints.ai_flags = AI_NUMERICHOST | flags;
    return hints;
}

Error noWay(const std::string& address, const char* why) {
    return {ErrorCode::kLaunch,
            fmt::format("this host has no way to {}: {}; name an interface", address, why)};
}

Error cannotListen(const std::string& address, const char* why) {
    return {
        ErrorCode::kLaunch,
        fmt::format("no port of {} can be listened on: {}; name another interface", address, why)};
}

}  // namespace

Result<std::string> addressOf(const std::string& named) {
    if (named.empty()) return std::string("127.0.0.1");
    std::string known;
    for (const Interface& each : interfaces()) {
        if (each.name == named || each.address == named) return each.address;
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", each.name, each.address);
    }
    return failure(ErrorCode::kUsage,
                   fmt::format("this host has no network interface or address '{}' that is up; it "
                               "has {}",
                               named, known.empty() ? "none" : known));
}

/// A connected datagram socket has chosen its way without a packet.
Result<std::string> addressTowards(const std::string& address) {
    constexpr const char* kAnyPort = "9";
    addrinfo* found = nullptr;
    const addrinfo hints = numeric(SOCK_DGRAM, 0);
    if (const int error = ::getaddrinfo(address.c_str(), kAnyPort, &hints, &found); error != 0) {
        return tl::unexpected(noWay(address, ::gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
    const int fd = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* any = reinterpret_cast<sockaddr*>(&own);
    std::array<char, NI_MAXHOST> text{};
    const bool known = fd >= 0 && ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                       ::getsockname(fd, any, &size) == 0;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!known) return tl::unexpected(noWay(address, std::strerror(error)));
    if (::getnameinfo(any, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return tl::unexpected(noWay(address, "its own address is not known"));
    return std::string(text.data());
}

std::optional<std::string> interfaceOf(const std::string& address) {
    for (const Interface& each : interfaces())
        if (each.address == address) return each.name;
    return std::nullopt;
}

std::vector<std::string> ownAddresses() {
    std::vector<std::string> addresses;
    for (Interface& each : interfaces()) addresses.push_back(std::move(each.address));
    return addresses;
}

Result<Listener> listenOn(const std::string& address) {
    addrinfo* found = nullptr;
    const addrinfo hints = numeric(SOCK_STREAM, AI_PASSIVE);
    if (const int error = ::getaddrinfo(address.c_str(), "0", &hints, &found); error != 0) {
        return tl::unexpected(cannotListen(address, ::gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
    constexpr int kBacklog = 1024;
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    auto* any = reinterpret_cast<sockaddr*>(&bound);
    if (fd < 0 || ::bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(fd, kBacklog) != 0 || ::getsockname(fd, any, &size) != 0) {
        const Error error = cannotListen(address, std::strerror(errno));
        if (fd >= 0) ::close(fd);
        return tl::unexpected(error);
    }
    // Both kinds of address hold the port at the same place.
    return Listener{fd, ntohs(reinterpret_cast<const sockaddr_in*>(any)->sin_port)};
}

std::vector<OwnListener> ownListeners() {
    std::vector<OwnListener> listeners;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const int fd = std::atoi(each.path().filename().c_str());
        int listens = 0;
        socklen_t size = sizeof listens;
        struct stat socket {};
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            ::fstat(fd, &socket) == 0)
            listeners.push_back({fd, socket.st_ino});
    }
    return listeners;
}

std::vector<int> listenersSince(const std::vector<OwnListener>& before) {
    std::vector<int> listeners;
    for (const OwnListener& each : ownListeners())
        if (std::find(before.begin(), before.end(), each) == before.end())
            listeners.push_back(each.fd);
    return listeners;
}

bool dropAllThatComes(int listener) {
    sock_filter nothing[] = {{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog program{1, nothing};
    return ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

}  // namespace shardscope::network
