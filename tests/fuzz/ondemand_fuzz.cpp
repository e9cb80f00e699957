// libFuzzer on the datagrams that processes of a program send to the daemon of a window: whatever
// they hold, they are decoded or refused, and answered as one that asked.
//
// The input is a datagram, and once more one without its size.
#include "engine/launch/kineto/protocol.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace shardscope::launch::kineto {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check(std::string_view datagram) {
    const auto message = decode(datagram);
    if (!message) return;
    require(message->request.has_value() != message->registration.has_value());
    if (message->request) {
        require(!message->request->pids.empty() && message->request->pids.size() <= kMostPids);
        require(message->request->pids.front() > 0);
        require(datagram.size() <= kLargestMessage);
    }
    if (message->registration) require(message->registration->pid > 0);
}

/// With the size that it ought to have.
std::string sized(std::string_view rest) {
    constexpr std::size_t kTypeBytes = 32;
    const std::uint64_t size = rest.size() - std::min(rest.size(), kTypeBytes);
    std::string datagram(sizeof size, '\0');
    std::memcpy(datagram.data(), &size, sizeof size);
    return datagram.append(rest);
}

}  // namespace
}  // namespace shardscope::launch::kineto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace shardscope::launch::kineto;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    check(text);
    check(sized(text));
    return 0;
}
