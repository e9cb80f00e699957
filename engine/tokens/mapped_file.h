// A file's bytes in memory, mapped: pages are read when they are looked at.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace shardscope::tokens {

class MappedFile {
public:
    /// Errors (kUnreadable) name the file and the cause. A file that is shortened while it
    /// is mapped ends the process that reads the part cut off (SIGBUS).
    static Result<MappedFile> open(const std::string& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    [[nodiscard]] std::string_view bytes() const { return {m_data, m_size}; }

private:
    MappedFile(char* data, std::size_t size) : m_data(data), m_size(size) {}

    char* m_data = nullptr;
    std::size_t m_size = 0;
};

}  // namespace shardscope::tokens
