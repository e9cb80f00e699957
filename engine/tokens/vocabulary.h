// What a byte-level BPE tokenizer knows: its tokens and the order in which pairs are merged.
#pragma once

#include <cstdint>
#include <string>
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

}  // namespace shardscope::tokens
