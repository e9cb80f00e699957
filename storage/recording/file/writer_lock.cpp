#include "storage/recording/file/writer_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace shardscope::storage {
namespace {

/// SQLite locks 512 bytes from 0x40000000 on.
constexpr off_t kLockedByte = 0x40010000;

struct flock lockOf(short kind) {
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = kLockedByte;
    lock.l_len = 1;
    return lock;
}

}  // namespace

Result<WriterLock> WriterLock::take(const std::string& path) {
    WriterLock taken(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct flock lock = lockOf(F_WRLCK);
    if (taken.m_descriptor >= 0 && ::fcntl(taken.m_descriptor, F_OFD_SETLK, &lock) != 0 &&
        (errno == EAGAIN || errno == EACCES))
        return failure(ErrorCode::kUsage, path + " is being written by another process");
    return taken;
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : m_descriptor(std::exchange(other.m_descriptor, -1)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
    std::swap(m_descriptor, other.m_descriptor);
    return *this;
}

WriterLock::~WriterLock() {
    if (m_descriptor >= 0) ::close(m_descriptor);
}

bool WriterLock::isAt(const std::string& path) const {
    if (m_descriptor < 0) return true;
    struct stat ours {};
    struct stat named {};
    return ::fstat(m_descriptor, &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

WriterWatch::WriterWatch(const std::string& path)
    : m_descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

WriterWatch::~WriterWatch() {
    if (m_descriptor >= 0) ::close(m_descriptor);
}

bool WriterWatch::isBeingWritten() const {
    struct flock lock = lockOf(F_WRLCK);
    return m_descriptor >= 0 && ::fcntl(m_descriptor, F_OFD_GETLK, &lock) == 0 &&
           lock.l_type != F_UNLCK;
}

bool isBeingWritten(const std::string& path) {
    return WriterWatch(path).isBeingWritten();
}

}  // namespace shardscope::storage
