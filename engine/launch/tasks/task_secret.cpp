#include "engine/launch/tasks/task_secret.h"

#include "storage/model/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace shardscope::launch {
namespace {

constexpr std::size_t kLongestToken = 4096;
constexpr std::size_t kNameLetters = 32;

bool isLoopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1" || address == "localhost";
}

tl::unexpected<Error> unreadable(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUnreadable, fmt::format("the token file {} {}", path, why));
}

/// Of secrets that programs, not people, compare: any fixed key will do.
std::string nameOf(std::string_view what, const TaskPlace& place) {
    return network::toHex(network::macOf({}, {what, place.identity})).substr(0, kNameLetters);
}

/// From every task: a launcher may end the others as soon as one has ended.
std::string missing(const TaskPlace& place) {
    return fmt::format(
        "tasks on several hosts need a secret in common, so that no stranger on the network takes "
        "part: {}; or keep the word in a file of mode 600 that every host sees, and add "
        "--task-token-file FILE; --trust-network does without a secret, on a network where no "
        "stranger is",
        entryOf(place.launcher)->passing);
}

}  // namespace

Result<std::string> readTokenFile(const std::string& path) {
    // Without waiting for a writer, where it is a FIFO.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0)
        return unreadable(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (!S_ISREG(facts.st_mode)) return unreadable(path, "is not a regular file; name one");
    if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
        return unreadable(path, "belongs to another user; make one of your own with mode 600");
    if ((facts.st_mode & 0077) != 0)
        return unreadable(path, fmt::format("can be read or changed by others; chmod 600 {0}, and "
                                            "write a new token if they may have seen it",
                                            path));
    std::array<char, kLongestToken + 1> text;
    const ssize_t count = ::read(file.get(), text.data(), text.size());
    if (count < 0) return unreadable(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    std::string token(text.data(), static_cast<std::size_t>(count));
    token.resize(std::min(token.find_first_of("\r\n"), token.size()));
    if (token.empty() || token.size() > kLongestToken)
        return unreadable(path, fmt::format("has no token of 1 to {} characters in its first line; "
                                            "write one, e.g. openssl rand -hex 16 > {}",
                                            kLongestToken, path));
    return token;
}

Result<void> settleSecret(TaskPlace& place, const TaskTrust& trust) {
    if (!trust.tokenFile.empty()) {
        auto token = readTokenFile(trust.tokenFile);
        if (!token) return failure(token);
        place.secret = std::move(*token);
    }
    if (!place.secret.empty() || place.onOneHost() || trust.trustNetwork) return {};
    if (!isLoopback(place.address)) return failure(ErrorCode::kUsage, missing(place));
    // Only tasks of this host can look there.
    place.address.clear();
    return {};
}

TaskSecret TaskSecret::of(const TaskPlace& place) {
    return {network::keyFrom(place.secret, "shardscope tasks 2\n" + place.identity),
            nameOf("run", place), nameOf("place", place)};
}

}  // namespace shardscope::launch
