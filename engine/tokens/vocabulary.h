// What a byte-level BPE tokenizer knows: its tokens and the order in which pairs are merged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::tokens {

/// The token that parts texts, in GPT-2's vocabulary and in those trained here.
inline constexpr const char* kEndOfText = "<|endoftext|>";
/// No vocabulary is larger; the largest in use have 0.3 M.
inline constexpr std::uint32_t kMostTokens = 1U << 20;

struct Merge {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t result = 0;
    friend bool operator==(const Merge&, const Merge&) = default;
};

/// Text that is one token wherever it stands, whatever the pattern and the merges say.
struct AddedToken {
    std::string text;
    std::uint32_t id = 0;
    bool special = true;
    friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

struct Vocabulary {
    std::vector<std::string> tokens;  ///< bytes by id; empty where no token has the id
    std::vector<Merge> merges;        ///< by rank, lowest first
    std::vector<AddedToken> added;
    friend bool operator==(const Vocabulary&, const Vocabulary&) = default;
};

// GPT-2's way of writing bytes in a text file: each byte as one printable character.
//
// Bytes that print (0x21-0x7E, 0xA1-0xAC, 0xAE-0xFF) stand for themselves, as code points; the
// other 68 become U+0100, U+0101, ... in order. Source: openai/gpt-2, src/encoder.py,
// bytes_to_unicode().

/// All bytes in the order of their characters' code points; GPT-2's ids 0 to 255.
[[nodiscard]] const std::array<std::uint8_t, 256>& alphabetOrder();

/// `bytes` as UTF-8 text of that alphabet.
[[nodiscard]] std::string toAlphabet(std::string_view bytes);

/// The bytes that `text` stands for; none where a character is not of the alphabet.
[[nodiscard]] std::optional<std::string> fromAlphabet(std::string_view text);

}  // namespace shardscope::tokens
