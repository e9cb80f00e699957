// A byte-level BPE tokenizer: text to token ids and back, without loss whatever the bytes are.
//
// Merging: of all neighbouring pairs that the vocabulary merges, the one of lowest rank, the
// leftmost of equals, until there is none (Sennrich, Haddow, Birch 2016, with the bytes of
// GPT-2 as the first symbols). Immutable and shared among threads; each has an Encoder.
#pragma once

#include "engine/tokens/vocabulary.h"
#include "storage/model/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::tokens {

class Tokenizer {
public:
    /// Errors (kUnreadable): a byte without a token, merges of tokens that do not fit together,
    /// ids out of range. `origin` is what errors call it.
    static Result<Tokenizer> make(Vocabulary vocabulary, const std::string& origin);

    /// One more than the largest id: what --vocabulary of the model has to be at least.
    [[nodiscard]] std::size_t size() const { return m_vocabulary.tokens.size(); }
    [[nodiscard]] const Vocabulary& vocabulary() const { return m_vocabulary; }
    /// The token that parts texts, where there is one.
    [[nodiscard]] std::optional<std::uint32_t> endOfText() const { return m_endOfText; }

    /// Errors (kUnreadable): an id that no token has, named by its place, counted from `first`.
    [[nodiscard]] Result<std::string> decode(std::span<const std::uint32_t> ids,
                                             std::size_t first = 0) const;

    /// Like pieceBoundary(), and no added token lies across it: both sides encoded apart give
    /// what the whole gives.
    [[nodiscard]] std::size_t boundary(std::string_view text, std::size_t wanted) const;

    /// For Encoder.
    struct Step {
        std::uint32_t rank = 0;
        std::uint32_t result = 0;
    };
    [[nodiscard]] const Step* merge(std::uint32_t left, std::uint32_t right) const;
    [[nodiscard]] std::uint32_t byteToken(unsigned char byte) const { return m_bytes[byte]; }
    /// Leftmost added token in `text` from `from`, the longest of those that begin there.
    struct Found {
        std::size_t at = 0;
        const AddedToken* token = nullptr;  ///< null: none, and `at` is the size of the text
    };
    [[nodiscard]] Found findAdded(std::string_view text, std::size_t from) const;

private:
    /// Open addressing: a look-up a pair is what encoding spends its time on.
    struct Slot {
        std::uint64_t pair = 0;  ///< left << 32 | right, plus one; 0: free
        Step step;
    };
    Result<void> takeBytes(const std::string& origin);
    Result<void> takeMerges(const std::string& origin);
    Result<void> takeAdded(const std::string& origin);
    [[nodiscard]] std::size_t slotOf(std::uint64_t pair) const;

    Vocabulary m_vocabulary;
    std::array<std::uint32_t, 256> m_bytes{};
    std::vector<Slot> m_slots;
    std::vector<AddedToken> m_added;  ///< longest first
    std::array<bool, 256> m_addedStart{};
    std::optional<std::uint32_t> m_endOfText;
};

// Reads and writes tokenizers: GPT-2's two files, and Hugging Face's tokenizer.json, which is
// also what training here writes.

/// `path`: a tokenizer.json; a folder with one, or with encoder.json or vocab.json and vocab.bpe
/// or merges.txt; or one of these two files. Errors (kUnreadable) name the file, what is wrong
/// and, where it is no byte-level BPE with GPT-2's pattern, what it is.
Result<Tokenizer> readTokenizer(const std::string& path);

/// The text of a tokenizer.json; `origin` is what errors call it. Refused, since encoding would
/// not be what its maker's is: other models than BPE, other pre-tokenizers than ByteLevel with
/// its pattern, normalizers, a space put before the text, added tokens that take spaces along.
Result<Tokenizer> parseTokenizerJson(std::string_view text, const std::string& origin);

/// The texts of encoder.json and vocab.bpe.
Result<Tokenizer> parseGpt2(std::string_view vocabulary, std::string_view merges,
                            const std::string& origin);

/// As a tokenizer.json that Hugging Face's library reads as well.
[[nodiscard]] std::string tokenizerJson(const Vocabulary& vocabulary);

}  // namespace shardscope::tokens
