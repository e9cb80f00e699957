// Byte pair merging and training written the slow, obvious way, to compare with; random text.
#pragma once

#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/tokenizer.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace shardscope::tokens {

/// The pieces that the splitter cuts `text` into.
std::vector<std::string> piecesOf(std::string_view text);

/// Ids of one piece: looks through all pairs for the lowest rank before each merge.
std::vector<std::uint32_t> bruteForceMerge(const Vocabulary& vocabulary, std::string_view piece);
/// Of a text without added tokens.
std::vector<std::uint32_t> bruteForceEncode(const Vocabulary& vocabulary, std::string_view text);

/// Counts all pairs of the whole text anew before each merge.
Vocabulary bruteForceTrain(std::string_view text, std::size_t vocabulary, std::int64_t leastCount);

using Random = std::mt19937_64;
/// Words, numbers, spaces of many kinds, letters of several scripts, all valid UTF-8.
std::string randomText(Random& random, std::size_t bytes);
/// The same with bytes that are no UTF-8 among it.
std::string randomBytes(Random& random, std::size_t bytes);

/// Encodes with a new Encoder.
std::vector<std::uint32_t> encoded(const Tokenizer& tokenizer, std::string_view text);

}  // namespace shardscope::tokens
