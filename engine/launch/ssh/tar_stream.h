// A package as the bytes of a tar archive, made while it is read.
#pragma once

#include "engine/launch/file_descriptor.h"
#include "engine/launch/ssh/payload.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace shardscope::launch {

/// The file in the archive that says what all others must be; the first one.
inline constexpr const char* kSumsFile = "SHA256SUMS";

class TarStream {
public:
    /// The package outlives it.
    explicit TarStream(const Package& package);

    /// The next piece, valid until the next call; empty: that was all. An error when a file has
    /// changed since it was packaged.
    Result<std::string_view> next();

    /// Of all that there is.
    [[nodiscard]] Bytes size() const;

private:
    Result<void> open(const PackageFile& file);
    Result<void> read();

    const Package& m_package;
    std::string m_sums;
    std::string m_buffer;
    FileDescriptor m_file;
    std::size_t m_index = 0;  ///< of the next file
    std::int64_t m_left = 0;  ///< of the open one
    bool m_begun = false;
    bool m_ended = false;
};

}  // namespace shardscope::launch
