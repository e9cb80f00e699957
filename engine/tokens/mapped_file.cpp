#include "engine/tokens/mapped_file.h"

#include "storage/model/input_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace shardscope::tokens {
namespace {

tl::unexpected<Error> unreadable(const std::string& path, const char* cause) {
    return failure(
        ErrorCode::kUnreadable,
        fmt::format("cannot read {}: {}; check the path and its permissions", path, cause));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    const int file = openRegularFile(path);
    if (file < 0) return unreadable(path, inputTrouble(errno).c_str());
    struct stat facts {};
    void* data = nullptr;
    int error = ::fstat(file, &facts) == 0 ? 0 : errno;
    if (error == 0 && facts.st_size > 0) {
        data = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE,
                      file, 0);
        if (data == MAP_FAILED) error = errno;
    }
    ::close(file);
    if (error != 0) return unreadable(path, std::strerror(error));
    return MappedFile(static_cast<char*>(data), static_cast<std::size_t>(facts.st_size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_size(std::exchange(other.m_size, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(m_data, other.m_data);
    std::swap(m_size, other.m_size);
    return *this;
}

MappedFile::~MappedFile() {
    if (m_data != nullptr) ::munmap(m_data, m_size);
}

}  // namespace shardscope::tokens
