// Encodes texts on several threads, in order.
#pragma once

#include "engine/tokens/encoder.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace shardscope::tokens {

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
