#include "storage/recording/file/writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

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

constexpr std::chrono::milliseconds kBetweenTries{10};

}  // namespace

PlacingLock::PlacingLock(const std::string& path, std::chrono::milliseconds patience) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    m_folder = FileDescriptor(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto until = std::chrono::steady_clock::now() + patience;
    while (m_folder.valid() && ::flock(m_folder.get(), LOCK_EX | LOCK_NB) != 0) {
        const bool busy = errno == EWOULDBLOCK || errno == EINTR;
        if (!busy || std::chrono::steady_clock::now() >= until) {
            m_folder.reset();
            return;
        }
        std::this_thread::sleep_for(kBetweenTries);
    }
}

Result<WriterLock> WriterLock::take(const std::string& path) {
    WriterLock taken(FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)));
    struct flock lock = lockOf(F_WRLCK);
    if (taken.m_file.valid() && ::fcntl(taken.m_file.get(), F_OFD_SETLK, &lock) != 0 &&
        (errno == EAGAIN || errno == EACCES))
        return failure(ErrorCode::kUsage, path + " is being written by another process");
    return taken;
}

bool WriterLock::isAt(const std::string& path) const {
    if (!m_file.valid()) return true;
    struct stat ours {};
    struct stat named {};
    return ::fstat(m_file.get(), &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

WriterWatch::WriterWatch(const std::string& path)
    : m_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

bool WriterWatch::isBeingWritten() const {
    struct flock lock = lockOf(F_WRLCK);
    return m_file.valid() && ::fcntl(m_file.get(), F_OFD_GETLK, &lock) == 0 &&
           lock.l_type != F_UNLCK;
}

bool isBeingWritten(const std::string& path) {
    return WriterWatch(path).isBeingWritten();
}

}  // namespace shardscope::storage
