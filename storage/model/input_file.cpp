#include "storage/model/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace shardscope {
namespace {

bool isPipe(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

/// What is in a pipe is looked at by a copy of a byte of it: reading nothing from one that is empty
/// and has no writer gives its end.
bool hasWriter(int pipe) {
    std::array<int, 2> copy{};
    if (::pipe2(copy.data(), O_CLOEXEC | O_NONBLOCK) != 0) return true;
    const ssize_t count = ::tee(pipe, copy[1], 1, SPLICE_F_NONBLOCK);
    const int error = errno;
    ::close(copy[0]);
    ::close(copy[1]);
    return count > 0 || (count < 0 && error == EAGAIN);
}

}  // namespace

Result<InputHold> InputHold::of(const std::string& path, std::chrono::seconds patience) {
    if (!isPipe(path)) return InputHold(-1);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    InputHold hold(descriptor);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (descriptor >= 0 && !hasWriter(descriptor)) {
        if (std::chrono::steady_clock::now() >= deadline)
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{} is a pipe, and no program has written to it in {} s; "
                                       "give a file, or start what writes to it",
                                       path, patience.count()));
        // An interruption ends the wait as a writer would.
        if (::poll(nullptr, 0, 50) < 0) break;
    }
    return hold;
}

InputHold::~InputHold() {
    if (m_descriptor >= 0) ::close(m_descriptor);
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

}  // namespace shardscope
