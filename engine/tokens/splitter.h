// Cuts text into the pieces within which byte pairs are merged: GPT-2's pattern, by PCRE2.
//
// The pattern is that of openai/gpt-2 (src/encoder.py) with \s written out as Unicode's
// White_Space: PCRE2's own also takes U+180E, which no other tokenizer does. Bytes that are not
// UTF-8 are pieces of one byte each, so that nothing is lost; the text between them is cut as
// if it stood alone. Letters and numbers are those of PCRE2's Unicode tables (14 in 10.42).
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace shardscope::tokens {

/// One a thread. Throws std::runtime_error when PCRE2 cannot be set up (out of memory).
class Splitter {
public:
    Splitter();
    ~Splitter();
    Splitter(Splitter&&) noexcept;
    Splitter& operator=(Splitter&&) noexcept;

    /// Begins with `text`, which outlives the walk.
    void begin(std::string_view text);
    /// The next piece, empty at the end. Pieces joined are the text.
    std::string_view next();

private:
    struct Engine;
    std::string_view nextInRun();

    std::unique_ptr<Engine> m_engine;
    std::string_view m_text;
    std::size_t m_at = 0;      ///< start of the next piece
    std::size_t m_runEnd = 0;  ///< end of the valid UTF-8 that m_at lies in
};

/// The first place at or after `wanted` where `text` can be divided without changing its
/// pieces, or its size: before an ASCII space or line end that follows some other ASCII
/// character, since no piece runs from a non-space into a space.
[[nodiscard]] std::size_t pieceBoundary(std::string_view text, std::size_t wanted);

// Where bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF).

/// Length of the longest valid UTF-8 at the front of `bytes`.
[[nodiscard]] std::size_t validUtf8(std::string_view bytes);

}  // namespace shardscope::tokens
