// libFuzzer on what rank 0's table hears: from strangers, none of which may be taken for a rank,
// after a rank has proved the key, when no forged record may be taken for a request, and requests.
#include "engine/network/table_server.h"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace shardscope::network {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// In two parts, as they may come.
void say(TableGuest& guest, std::span<const std::byte> bytes) {
    const auto complaint = [](int) { return std::string(); };
    const std::size_t half = bytes.size() / 2;
    if (guest.take(bytes.first(half), complaint))
        static_cast<void>(guest.take(bytes.subspan(half), complaint));
}

void fromAStranger(std::span<const std::byte> bytes) {
    static const Key kKey = drawKey();
    TableGuest guest(kKey);
    say(guest, bytes);
    require(!guest.proven());
    require(!guest.next().value());
}

void toARank(std::span<const std::byte> bytes) {
    static const SealPair kSeals{Seal(drawKey()), Seal(drawKey())};
    TableGuest guest(kSeals);
    say(guest, bytes);
    const auto request = guest.next();
    require(!request || !*request);
}

void request(std::span<const std::byte> bytes) {
    const auto parsed = parseRequest(bytes);
    require(!parsed || encode(*parsed) == std::vector(bytes.begin(), bytes.end()));
}

}  // namespace
}  // namespace shardscope::network

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    shardscope::network::fromAStranger(bytes);
    shardscope::network::toARank(bytes);
    shardscope::network::request(bytes);
    return 0;
}
