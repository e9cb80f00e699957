// The tokens that a run trains on, from what --data and --tokenizer name.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/tokens/token_stream.h"
#include "storage/model/result.h"

namespace shardscope::tokens {

inline constexpr const char* kSynthetic = run::kSyntheticData;
/// `--tokenizer bytes`: every byte is a token.
inline constexpr const char* kBytes = "bytes";

struct Corpus {
    TokenStream training;
    TokenStream validation;  ///< the end of the data, or the files named val
    /// Tokens were too many to look at all of them; look when they are read.
    bool unchecked = false;
};

/// Reads the data of a run: bytes or encoded text are kept in memory, token files are mapped.
/// Errors: no such data or tokenizer, not what it should be, too few tokens for the context, a
/// token past the vocabulary (kUnreadable); a tokenizer with more tokens than
/// --vocabulary (kUsage). Not for synthetic data.
Result<Corpus> loadCorpus(const run::RunConfig& config);

/// What of that can be checked without reading or encoding a text: to be asked before ranks start.
Result<void> checkCorpus(const run::RunConfig& config);

}  // namespace shardscope::tokens
