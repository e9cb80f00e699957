#include "engine/tokens/vocabulary.h"

#include <cstddef>

namespace shardscope::tokens {
namespace {

constexpr std::size_t kCharacters = 0x100 + 68;
constexpr std::int16_t kNoByte = -1;

struct Alphabet {
    std::array<std::uint16_t, 256> character{};
    std::array<std::int16_t, kCharacters> byte{};
    std::array<std::uint8_t, 256> order{};
};

constexpr bool prints(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet makeAlphabet() {
    Alphabet a;
    a.byte.fill(kNoByte);
    unsigned other = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const unsigned character = prints(byte) ? byte : other++;
        a.character[byte] = static_cast<std::uint16_t>(character);
        a.byte[character] = static_cast<std::int16_t>(byte);
    }
    std::size_t next = 0;
    for (const std::int16_t byte : a.byte) {
        if (byte != kNoByte) a.order[next++] = static_cast<std::uint8_t>(byte);
    }
    return a;
}

constexpr Alphabet kAlphabet = makeAlphabet();

}  // namespace

const std::array<std::uint8_t, 256>& alphabetOrder() {
    return kAlphabet.order;
}

std::string toAlphabet(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        const unsigned character = kAlphabet.character[static_cast<unsigned char>(c)];
        if (character < 0x80) {
            text += static_cast<char>(character);
        } else {
            text += static_cast<char>(0xC0 | (character >> 6));
            text += static_cast<char>(0x80 | (character & 0x3F));
        }
    }
    return text;
}

std::optional<std::string> fromAlphabet(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned character = static_cast<unsigned char>(text[i]);
        if (character >= 0x80) {
            if ((character & 0xE0) != 0xC0 || i + 1 == text.size()) return std::nullopt;
            const unsigned low = static_cast<unsigned char>(text[++i]);
            if ((low & 0xC0) != 0x80) return std::nullopt;
            character = (character & 0x1F) << 6 | (low & 0x3F);
            if (character < 0x80) return std::nullopt;
        }
        if (character >= kCharacters || kAlphabet.byte[character] == kNoByte) return std::nullopt;
        bytes += static_cast<char>(kAlphabet.byte[character]);
    }
    return bytes;
}

}  // namespace shardscope::tokens
