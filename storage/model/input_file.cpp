#include "storage/model/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace shardscope {
namespace {

/// An interruption ends the wait as a writer would.
bool awaitWriter(int pipe, std::chrono::seconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!hasWriter(pipe)) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        if (::poll(nullptr, 0, 50) < 0) break;
    }
    return true;
}

tl::unexpected<Error> unreadable(const std::string& path) {
    return failure(ErrorCode::kUnreadable, path + " cannot be read: " + std::strerror(errno));
}

struct Opened {
    int number;
    ~Opened() {
        if (number >= 0) ::close(number);
    }
};

}  // namespace

bool hasWriter(int pipe) {
    // What is in it is looked at by a copy of a byte of it: reading nothing from one that is empty
    // and has no writer gives its end.
    std::array<int, 2> copy{};
    if (::pipe2(copy.data(), O_CLOEXEC | O_NONBLOCK) != 0) return true;
    const ssize_t count = ::tee(pipe, copy[1], 1, SPLICE_F_NONBLOCK);
    const int error = errno;
    ::close(copy[0]);
    ::close(copy[1]);
    return count > 0 || (count < 0 && error == EAGAIN);
}

std::string withoutWriter(const std::string& path, std::chrono::seconds patience) {
    return fmt::format(
        "{} is a pipe, and no program has written to it in {} s; give a file, or start what "
        "writes to it",
        path, patience.count());
}

Result<std::string> readInput(const std::string& path, std::chrono::seconds patience) {
    const Opened file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat facts {};
    if (file.number < 0 || ::fstat(file.number, &facts) != 0) return unreadable(path);
    if (S_ISFIFO(facts.st_mode) && !awaitWriter(file.number, patience))
        return failure(ErrorCode::kUnreadable, withoutWriter(path, patience));
    // What was waited for comes at its own pace.
    ::fcntl(file.number, F_SETFL, 0);
    std::string text;
    std::array<char, 65536> block{};
    while (true) {
        const ssize_t count = ::read(file.number, block.data(), block.size());
        if (count == 0) return text;
        if (count < 0 && errno == EINTR)
            return failure(ErrorCode::kCancelled, "reading " + path + " was interrupted");
        if (count < 0) return unreadable(path);
        text.append(block.data(), static_cast<std::size_t>(count));
    }
}

int openRegularFile(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts {};
    if (descriptor < 0) return -1;
    int error = ::fstat(descriptor, &facts) == 0 ? 0 : errno;
    if (error == 0 && !S_ISREG(facts.st_mode)) error = S_ISDIR(facts.st_mode) ? EISDIR : ESPIPE;
    if (error == 0) return descriptor;
    ::close(descriptor);
    errno = error;
    return -1;
}

std::string inputTrouble(int error) {
    if (error == ESPIPE) return "it is a pipe or a device; give a file";
    return std::strerror(error);
}

std::string fileState(const std::string& recording) {
    struct stat facts {};
    struct stat log {};
    if (::stat(recording.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
    if (::stat((recording + "-wal").c_str(), &log) == 0 && log.st_size > 0) return {};
    std::string state;
    for (const auto fact :
         {static_cast<std::int64_t>(facts.st_size), static_cast<std::int64_t>(facts.st_dev),
          static_cast<std::int64_t>(facts.st_ino), static_cast<std::int64_t>(facts.st_mtim.tv_sec),
          static_cast<std::int64_t>(facts.st_mtim.tv_nsec),
          static_cast<std::int64_t>(facts.st_ctim.tv_sec),
          static_cast<std::int64_t>(facts.st_ctim.tv_nsec)})
        state += std::to_string(fact) + ' ';
    return state;
}

}  // namespace shardscope
