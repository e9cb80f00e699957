// GPT-2's way of writing bytes in a text file: each byte as one printable character.
//
// Bytes that print (0x21-0x7E, 0xA1-0xAC, 0xAE-0xFF) stand for themselves, as code points; the
// other 68 become U+0100, U+0101, ... in order. Source: openai/gpt-2, src/encoder.py,
// bytes_to_unicode().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::tokens {

/// All bytes in the order of their characters' code points; GPT-2's ids 0 to 255.
[[nodiscard]] const std::array<std::uint8_t, 256>& alphabetOrder();

/// `bytes` as UTF-8 text of that alphabet.
[[nodiscard]] std::string toAlphabet(std::string_view bytes);

/// The bytes that `text` stands for; none where a character is not of the alphabet.
[[nodiscard]] std::optional<std::string> fromAlphabet(std::string_view text);

}  // namespace shardscope::tokens
