// Files and folders whose contents are on the disk before anybody is told of them.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <span>
#include <string>

namespace shardscope::checkpoint {

/// A file being written. Removed again unless it is closed.
class DurableFile {
public:
    static Result<DurableFile> create(const std::string& path);
    DurableFile(DurableFile&& other) noexcept;
    DurableFile& operator=(DurableFile&&) = delete;
    ~DurableFile();

    Result<void> write(std::span<const std::byte> bytes);
    /// fsync and close.
    Result<void> close();

private:
    DurableFile(std::string path, int descriptor)
        : m_path(std::move(path)), m_descriptor(descriptor) {}
    [[nodiscard]] tl::unexpected<Error> failed(const char* what) const;

    std::string m_path;
    int m_descriptor;
};

/// Makes names created or renamed inside `folder` durable.
Result<void> syncFolder(const std::string& folder);

}  // namespace shardscope::checkpoint
