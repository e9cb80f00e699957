#include "engine/run/config/byte_text.h"

namespace shardscope::run {
namespace {

constexpr char32_t kFirstStandIn = 0x10FE00;

struct Character {
    char32_t code = 0;
    std::size_t length = 0;  ///< in bytes; 0: none begins here
};

bool isContinuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// The character at the front; none where its bytes are no shortest form of a scalar value.
Character characterAt(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return {lead, 1};
    const std::size_t length = lead >> 5 == 0b110 ? 2 : lead >> 4 == 0b1110 ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return {};
    char32_t code = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if (!isContinuation(text[i])) return {};
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    }
    const bool shortest = length == 2 || code >= (length == 3 ? 0x800u : 0x10000u);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (!shortest || surrogate || code > 0x10FFFF) return {};
    return {code, length};
}

bool isStandIn(char32_t code) {
    return code >= kFirstStandIn && code < kFirstStandIn + 256;
}

std::string standInFor(char c) {
    const char32_t code = kFirstStandIn + static_cast<unsigned char>(c);
    return {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
            static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

bool isUtf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t length = characterAt(bytes).length;
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string utf8OfBytes(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const Character character = characterAt(bytes);
        if (character.length > 0 && !isStandIn(character.code)) {
            text += bytes.substr(0, character.length);
            bytes.remove_prefix(character.length);
        } else {
            text += standInFor(bytes.front());
            bytes.remove_prefix(1);
        }
    }
    return text;
}

std::string bytesOfUtf8(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const Character character = characterAt(text);
        const std::size_t length = character.length > 0 ? character.length : 1;
        if (character.length > 0 && isStandIn(character.code))
            bytes += static_cast<char>(character.code - kFirstStandIn);
        else
            bytes += text.substr(0, length);
        text.remove_prefix(length);
    }
    return bytes;
}

}  // namespace shardscope::run
