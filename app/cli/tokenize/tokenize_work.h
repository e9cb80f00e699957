// What `shardscope tokenize` does: trains a tokenizer, encodes texts to token files, decodes.
#pragma once

#include "engine/tokens/encoder.h"
#include "engine/tokens/token_file.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct TokenizeOptions {
    std::vector<std::string> inputs;  ///< texts and folders; to decode, token files
    std::string output;
    std::string tokenizer;  ///< to encode and decode with
    std::size_t vocabulary = 8192;
    std::int64_t leastCount = 2;
    tokens::TokenFormat format = tokens::TokenFormat::kNanoGpt;
    std::optional<double> heldBack;  ///< 0.1 where the output is a folder
    tokens::AddedTokens added = tokens::AddedTokens::kRecognised;
    unsigned threads = 1;
    bool overwrite = false;
    /// Called with the share of the work done; false stops it. Never empty.
    std::function<bool(double share)> progress;
};

struct TokenizeAccount {
    std::string tokenizer;       ///< file trained or used
    std::size_t vocabulary = 0;  ///< tokens of it
    std::int64_t files = 0;      ///< read
    std::int64_t textBytes = 0;
    std::int64_t tokens = 0;  ///< of that text
    std::int64_t heldBackTokens = 0;
    std::vector<std::string> outputs;
    double seconds = 0;
};

/// Errors of all three: inputs that are not what they should be (kUnreadable), an output that
/// exists or cannot be made (kUsage), a full disk (kFailure), stopped (kCancelled). None leaves
/// a file half written.
Result<TokenizeAccount> trainTokenizer(const TokenizeOptions& options);
/// To one .bin, or to a folder: train.bin, val.bin and the tokenizer.json.
Result<TokenizeAccount> encodeTexts(const TokenizeOptions& options);
/// To the output, or to standard output where there is none.
Result<TokenizeAccount> decodeTokens(const TokenizeOptions& options);

}  // namespace shardscope::cli
