// The bytes of a trace, wherever they lie: a file or standard input, gzip looked through.
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

class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Fills a part of `into`; 0 is the end. kUnreadable names what is wrong: truncated or damaged
    /// gzip, a bomb, a disk that cannot be read.
    virtual Result<std::size_t> read(std::span<char> into) = 0;
    /// Share of the input that was read, 0 to 1; 0 where the size is not known.
    [[nodiscard]] virtual double share() const = 0;
};

/// "-" is standard input. kUnreadable when there is no such file, or it is a folder.
Result<std::unique_ptr<ByteSource>> openBytes(const std::string& path);

}  // namespace shardscope::interchange
