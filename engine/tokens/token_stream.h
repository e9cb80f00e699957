// Tokens in a row from one or several places: token files, encoded text, bytes.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardscope::tokens {

/// Cheap to copy; copies share the memory. Reading is thread-safe.
class TokenStream {
public:
    /// Little-endian tokens of 1, 2 or 4 bytes that `owner` keeps alive. `name` is what errors
    /// call them.
    void append(std::shared_ptr<const void> owner, const void* data, std::size_t count,
                std::size_t width, std::string name);
    void append(const TokenStream& other);

    [[nodiscard]] std::int64_t size() const { return m_size; }
    /// Tokens [first, first + count), all of them there.
    [[nodiscard]] TokenStream slice(std::int64_t first, std::int64_t count) const;
    /// Copies tokens from `first` on, all of them there.
    void read(std::int64_t first, std::span<std::int64_t> into) const;

    /// Errors (kUnreadable): a token of [first, first + count) is not below `vocabulary`; the
    /// first such by file, place and value.
    [[nodiscard]] Result<void> checkRange(std::int64_t first, std::int64_t count,
                                          std::int64_t vocabulary) const;

private:
    struct Part {
        std::shared_ptr<const void> owner;
        const char* data = nullptr;
        std::int64_t count = 0;
        std::size_t width = 0;
        std::int64_t start = 0;   ///< in this stream
        std::int64_t offset = 0;  ///< of data in what `name` names, tokens
        std::string name;
    };
    /// Calls f(part, first in part, count) for what [first, first + count) touches.
    template <class F>
    void visit(std::int64_t first, std::int64_t count, F f) const;

    std::vector<Part> m_parts;
    std::int64_t m_size = 0;
};

/// Files that make up training data, and those held back.
struct TokenFiles {
    std::vector<std::string> training;
    std::vector<std::string> validation;
};

/// Whether `path` is a token file (.bin) or a folder with some.
[[nodiscard]] bool isTokenData(const std::string& path);

/// A .bin; or those of a folder by name, where "val" as a word of the name (val.bin,
/// fineweb_val_000000.bin) marks what is held back. Errors (kUnreadable): no training file.
Result<TokenFiles> findTokenFiles(const std::string& path);

/// The files one after another. Errors as openTokenFile().
Result<TokenStream> openTokenFiles(const std::vector<std::string>& paths);

}  // namespace shardscope::tokens
