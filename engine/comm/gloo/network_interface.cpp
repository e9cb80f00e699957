#include "engine/comm/gloo/network_interface.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace shardscope::comm {
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

Error cannotListen(const std::string& address, const char* why) {
    return {ErrorCode::kLaunch,
            fmt::format("no port of {} can be listened on for Gloo: {}; name another interface",
                        address, why)};
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

Result<Listener> listenOn(const std::string& address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
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

}  // namespace shardscope::comm
