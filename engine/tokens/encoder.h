// Text to token ids: what one thread needs to encode with a shared tokenizer.
#pragma once

#include "engine/tokens/splitter.h"
#include "engine/tokens/tokenizer.h"
#include "storage/model/result.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace shardscope::tokens {

/// Whether added tokens written in a text are those tokens, or text like any other.
enum class AddedTokens { kRecognised, kAsText };

class Encoder {
public:
    /// 2 MiB a thread.
    static constexpr std::size_t kRememberedPieces = 1 << 15;

    /// `tokenizer` outlives the encoder. `remembered`, a power of two: how many pieces' tokens
    /// are kept for when they come again, 64 bytes each.
    explicit Encoder(const Tokenizer& tokenizer, AddedTokens added = AddedTokens::kRecognised,
                     std::size_t remembered = kRememberedPieces);

    /// Appends the ids of `text`, any bytes, to `ids`.
    void encode(std::string_view text, std::vector<std::uint32_t>& ids);

private:
    /// A piece seen before. Few words make up most of a text, so a direct-mapped table of one
    /// cache line each saves most of the merging.
    struct alignas(64) Known {
        static constexpr std::size_t kBytes = 30;
        static constexpr std::size_t kIds = 8;
        std::uint8_t length = 0;  ///< 0: free
        std::uint8_t count = 0;
        std::array<char, kBytes> bytes{};
        std::array<std::uint32_t, kIds> ids{};
    };
    static_assert(sizeof(Known) == 64);

    /// A token of the piece being merged; merged away where it has no bytes.
    struct Symbol {
        std::uint32_t id = 0;
        std::int32_t previous = -1;
        std::int32_t next = -1;
        bool gone = false;
    };
    /// Two neighbours that may be merged, as they were when it was noted.
    struct Candidate {
        std::uint32_t rank = 0;
        std::int32_t at = 0;
        std::uint32_t left = 0;
        std::uint32_t right = 0;
        std::uint32_t result = 0;
        /// A heap of the standard library has its greatest on top.
        friend bool operator<(const Candidate& a, const Candidate& b) {
            return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
        }
    };

    void encodePlain(std::string_view text, std::vector<std::uint32_t>& ids);
    void encodePiece(std::string_view piece, std::vector<std::uint32_t>& ids);
    void mergePiece(std::string_view piece, std::vector<std::uint32_t>& ids);
    void note(std::int32_t at);
    void apply(const Candidate& best);

    const Tokenizer& m_tokenizer;
    AddedTokens m_added;
    Splitter m_splitter;
    std::vector<Known> m_known;
    std::vector<Symbol> m_symbols;
    std::vector<Candidate> m_heap;
};

// Encodes texts on several threads, in order.

/// Takes tokens in the order of the text; an error ends the encoding.
using TokenSink = std::function<Result<void>(std::span<const std::uint32_t>)>;

class ParallelEncoder {
public:
    /// `tokenizer` outlives the encoder.
    ParallelEncoder(const Tokenizer& tokenizer, AddedTokens added, unsigned threads);

    /// One text, and after it the end of text where the tokenizer has one. Text is divided where
    /// its tokens stay what they are, so they do not depend on the number of threads. Errors are
    /// the sink's. Throws std::bad_alloc and what PCRE2 fails with.
    Result<void> encode(std::string_view text, const TokenSink& sink);

private:
    const Tokenizer& m_tokenizer;
    std::vector<Encoder> m_encoders;                 ///< one a thread
    std::vector<std::vector<std::uint32_t>> m_made;  ///< likewise
};

}  // namespace shardscope::tokens
