// Token files of other trainers: nanoGPT's and llm.c's .bin, little-endian.
//
//   nanoGPT   uint16 tokens and nothing else (karpathy/nanoGPT, data/*/prepare.py)
//   llm.c     256 int32: magic 20240520, version 1, number of tokens, zeros; uint16 tokens; or
//             magic 20240801, version 7, uint32 tokens (karpathy/llm.c, dev/data/data_common.py)
// A file is llm.c's when it begins with one of the magics.
#pragma once

#include "engine/tokens/mapped_file.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace shardscope::tokens {

enum class TokenFormat { kNanoGpt, kLlmc };

struct TokenFile {
    MappedFile file;
    const char* data = nullptr;  ///< first token
    std::size_t count = 0;
    std::size_t width = 2;  ///< bytes a token
    TokenFormat format = TokenFormat::kNanoGpt;
};

/// Errors (kUnreadable): unreadable, empty, an odd number of bytes, a header of another version
/// or that announces other than follows.
Result<TokenFile> openTokenFile(const std::string& path);

/// Writes tokens as they come, to a file of its own that finish() makes whole.
class TokenFileWriter {
public:
    /// `width` 2, or 4 for llm.c's wide tokens; what has the name is removed. Errors (kUsage): the
    /// file cannot be made.
    static Result<TokenFileWriter> create(const std::string& path, TokenFormat format,
                                          std::size_t width);
    TokenFileWriter(TokenFileWriter&&) = default;
    TokenFileWriter& operator=(TokenFileWriter&&) = default;
    /// Removes what was not finished.
    ~TokenFileWriter();

    /// Tokens fit the width. Errors (kFailure): the disk is full, ...
    Result<void> write(std::span<const std::uint32_t> tokens);
    [[nodiscard]] std::size_t count() const { return m_count; }
    /// Moves the last `count` tokens to `tail`, a writer of the same width.
    Result<void> moveTail(std::size_t count, TokenFileWriter& tail);
    /// Its header, and it stays.
    Result<void> finish();

private:
    TokenFileWriter() = default;
    [[nodiscard]] tl::unexpected<Error> failed() const;

    std::string m_path;  ///< empty once finished
    std::fstream m_file;
    TokenFormat m_format = TokenFormat::kNanoGpt;
    std::size_t m_width = 2;
    std::size_t m_count = 0;
    std::string m_bytes;
};

}  // namespace shardscope::tokens
