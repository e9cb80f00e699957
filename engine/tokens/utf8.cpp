#include "engine/tokens/utf8.h"

#include <cstdint>
#include <cstring>

namespace shardscope::tokens {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

/// Bytes of the character that begins at `text`, 0 when it is not valid.
std::size_t characterLength(const unsigned char* text, std::size_t left) {
    const unsigned lead = text[0];
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length > left) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    const unsigned second = text[1];
    const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                       (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return wrong ? 0 : length;
}

}  // namespace

std::size_t validUtf8(std::string_view bytes) {
    const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t at = 0;
    while (at < bytes.size()) {
        std::uint64_t eight = kHighBits;
        if (bytes.size() - at >= sizeof eight) std::memcpy(&eight, text + at, sizeof eight);
        if ((eight & kHighBits) == 0) {
            at += sizeof eight;
            continue;
        }
        const std::size_t length = characterLength(text + at, bytes.size() - at);
        if (length == 0) break;
        at += length;
    }
    return at;
}

}  // namespace shardscope::tokens
