#include "engine/launch/user_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace shardscope::launch {
namespace {

Result<void> makePrivate(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return failure(ErrorCode::kFailure,
                       fmt::format("{} cannot be made: {}", folder, std::strerror(errno)));
    struct stat status {};
    const bool ours = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0;
    if (ours) return {};
    return failure(
        ErrorCode::kFailure,
        fmt::format("{} is not this user's alone; remove it, or set XDG_RUNTIME_DIR to a "
                    "folder of your own",
                    folder));
}

/// Batch jobs inherit the variable from a login elsewhere, whose folder is not on this host.
bool isOwnFolder(const char* path) {
    struct stat status {};
    return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

}  // namespace

std::string userFolder() {
    const char* named = std::getenv("XDG_RUNTIME_DIR");
    if (named != nullptr && *named == '/' && isOwnFolder(named))
        return std::string(named) + "/shardscope";
    return fmt::format("/tmp/shardscope-{}", ::geteuid());
}

Result<std::string> makeUserFolder(const std::string& below) {
    const std::string folder = userFolder();
    if (auto made = makePrivate(folder); !made) return failure(made);
    if (below.empty()) return folder;
    if (auto made = makePrivate(folder + "/" + below); !made) return failure(made);
    return folder + "/" + below;
}

}  // namespace shardscope::launch
