// Trains a byte-level BPE vocabulary: repeatedly makes the most frequent pair of neighbouring
// tokens a token (Sennrich, Haddow, Birch 2016), within the pieces that the splitter cuts.
//
// Deterministic: of pairs equally frequent the one with the smaller ids (left, then right) is
// taken, as Hugging Face's trainer does; bytes have GPT-2's ids. Each merge costs what it
// changes: pieces are counted once each, occurrences are listed by pair, and a heap holds the
// counts, so that the whole is O(n log n) in the bytes of distinct pieces.
#pragma once

#include "engine/tokens/splitter.h"
#include "engine/tokens/vocabulary.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::tokens {

/// How often each piece occurs in a text.
class PieceCounts {
public:
    void add(std::string_view text);
    /// Adds what another counted, for texts counted on several threads.
    void add(const PieceCounts& other);

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view piece) const {
            return std::hash<std::string_view>{}(piece);
        }
    };
    using Map = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;
    [[nodiscard]] const Map& counts() const { return m_counts; }

private:
    Splitter m_splitter;
    Map m_counts;
};

struct TrainingOptions {
    std::size_t vocabulary = 8192;  ///< tokens, with the 256 bytes and the end of text
    std::int64_t leastCount = 2;    ///< a pair that occurs less often becomes no token
    /// Called with the number of tokens so far, now and then; false stops the training. May be
    /// empty.
    std::function<bool(std::size_t tokens)> progress;
};

/// The vocabulary: bytes, merges by rank, and the end of text as the last token. Smaller than
/// asked for where the text has no more pairs. Errors: a size below 257 or past kMostTokens
/// (kUsage), more than 2 GiB of distinct pieces (kUnreadable), stopped (kCancelled).
Result<Vocabulary> trainBpe(const PieceCounts& pieces, const TrainingOptions& options);

}  // namespace shardscope::tokens
