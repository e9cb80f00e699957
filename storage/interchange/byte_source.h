// The bytes of a trace's file, gzip looked through.
//
// One thread reads. A gzip file is inflated on a thread of its own, a few blocks ahead.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace shardscope::interchange {

/// What becomes of gzip that ends too early: an error, or what is there and a fault().
enum class CutGzip : std::uint8_t { kRefused, kSalvaged };

class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Fills a part of `into`; 0 is the end. kUnreadable names what is wrong: truncated or damaged
    /// gzip, a bomb, a disk that cannot be read.
    virtual Result<std::size_t> read(std::span<char> into) = 0;
    /// Behind the end: what is wrong with it ("is truncated gzip ..."); empty: nothing.
    [[nodiscard]] virtual std::string fault() const { return {}; }
    /// Share of the input that was read, 0 to 1; 0 where the size is not known.
    [[nodiscard]] virtual double share() const = 0;
};

/// `title` is what sentences call it. kUnreadable when there is no such file, or it is a folder.
Result<std::unique_ptr<ByteSource>> openBytes(const std::string& path, const std::string& title,
                                              CutGzip cut = CutGzip::kRefused);

}  // namespace shardscope::interchange
