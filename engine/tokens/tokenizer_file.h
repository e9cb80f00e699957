// Reads and writes tokenizers: GPT-2's two files, and Hugging Face's tokenizer.json, which is
// also what training here writes.
#pragma once

#include "engine/tokens/tokenizer.h"
#include "storage/model/result.h"

#include <string>
#include <string_view>

namespace shardscope::tokens {

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
