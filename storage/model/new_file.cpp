#include "storage/model/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace shardscope {
namespace {

/// 0, or errno.
int writeAll(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

int removed(const std::string& path, int error) {
    ::unlink(path.c_str());
    return error;
}

}  // namespace

int openNewFile(const std::string& path, unsigned mode) {
    ::unlink(path.c_str());
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int writeNewFile(const std::string& path, std::string_view bytes) {
    const int descriptor = openNewFile(path);
    if (descriptor < 0) return errno;
    int error = writeAll(descriptor, bytes);
    if (::close(descriptor) != 0 && error == 0) error = errno;
    return error == 0 ? 0 : removed(path, error);
}

int replaceOwnFile(const std::string& path, std::string_view bytes) {
    const std::string partial = path + '.' + std::to_string(::getpid());
    if (const int error = writeNewFile(partial, bytes); error != 0) return error;
    return std::rename(partial.c_str(), path.c_str()) == 0 ? 0 : removed(partial, errno);
}

}  // namespace shardscope
