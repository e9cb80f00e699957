#include "engine/tokens/text_files.h"

#include "storage/model/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProbeBytes = 64 << 10;

/// The start of a file; enough to tell what it is.
Result<std::string> probe(const fs::path& path) {
    // A pipe would be waited for.
    if (const int tried = openRegularFile(path.string()); tried >= 0)
        ::close(tried);
    else if (errno == ESPIPE)
        return failure(ErrorCode::kUnreadable, fmt::format("cannot read training data {}: {}",
                                                           path.string(), inputTrouble(errno)));
    std::ifstream in(path, std::ios::binary);
    std::string bytes(kProbeBytes, '\0');
    if (in) in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in && !in.eof()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("cannot read training data {}: {}; check the path and its "
                                   "permissions",
                                   path.string(), std::strerror(errno)));
    }
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
}

bool isBinary(const std::string& bytes) {
    return bytes.find('\0') != bytes.npos;
}

bool isText(const fs::path& path) {
    const auto bytes = probe(path);
    return bytes && !bytes->empty() && !isBinary(*bytes);
}

bool hidden(const fs::path& path) {
    return path.filename().string().starts_with('.') || path.filename() == "build";
}

bool mayRead(const fs::path& path, bool isFolder) {
    return ::faccessat(AT_FDCWD, path.c_str(), isFolder ? R_OK | X_OK : R_OK, AT_EACCESS) == 0;
}

/// The folder itself, or the first in it that would have been read.
std::optional<fs::path> firstUnreadable(const fs::path& folder) {
    if (!mayRead(folder, true)) return folder;
    std::error_code ignored;
    auto it = fs::recursive_directory_iterator(
        folder, fs::directory_options::skip_permission_denied, ignored);
    for (; it != fs::recursive_directory_iterator(); it.increment(ignored)) {
        const bool isFolder = it->is_directory(ignored);
        if (isFolder && hidden(it->path())) it.disable_recursion_pending();
        if (hidden(it->path()) || !(isFolder || it->is_regular_file(ignored))) continue;
        if (!mayRead(it->path(), isFolder)) return it->path();
    }
    return std::nullopt;
}

std::string nameOf(uid_t user) {
    const passwd* entry = ::getpwuid(user);
    return entry != nullptr ? entry->pw_name : fmt::format("with the number {}", user);
}

/// "user ann (it belongs to user bob, mode 0700)"
std::string rightsOf(const fs::path& path) {
    struct stat facts {};
    const std::string who = "user " + nameOf(::geteuid());
    if (::stat(path.c_str(), &facts) != 0) return who;
    return fmt::format("{} (it belongs to user {}, mode {:04o})", who, nameOf(facts.st_uid),
                       facts.st_mode & 07777);
}

Result<std::vector<std::string>> filesBelow(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code ignored;
    auto it = fs::recursive_directory_iterator(
        folder, fs::directory_options::skip_permission_denied, ignored);
    for (; it != fs::recursive_directory_iterator(); it.increment(ignored)) {
        if (it->is_directory(ignored) && hidden(it->path())) {
            it.disable_recursion_pending();
        } else if (it->is_regular_file(ignored) && !hidden(it->path()) && isText(it->path())) {
            files.push_back(it->path());
        }
    }
    if (files.empty()) return tl::unexpected(noTextIn(folder.string()));
    std::sort(files.begin(), files.end());
    return std::vector<std::string>(files.begin(), files.end());
}

}  // namespace

Error noTextIn(const std::string& folder) {
    const auto barred = firstUnreadable(folder);
    if (!barred)
        return {ErrorCode::kUnreadable,
                fmt::format("folder {} holds no text file; give a text file or a folder with some",
                            folder)};
    if (*barred == folder)
        return {ErrorCode::kUnreadable,
                fmt::format("folder {} cannot be read by {}; let that user read and enter it "
                            "(chmod), or give another folder",
                            folder, rightsOf(folder))};
    return {ErrorCode::kUnreadable,
            fmt::format("folder {} holds no text file that can be read: {} cannot be, by {}; let "
                        "that user read it (chmod), or give another folder",
                        folder, barred->string(), rightsOf(*barred))};
}

Result<std::vector<std::string>> findTextFiles(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} does not exist; give a text file or a folder "
                                   "of text files",
                                   path));
    }
    if (fs::is_directory(path, error)) return filesBelow(path);
    const auto bytes = probe(path);
    if (!bytes) return failure(bytes);
    if (bytes->empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} is empty; give a file with text in it", path));
    }
    if (isBinary(*bytes)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} is binary (it holds NUL bytes); give a text "
                                   "file, or a token file named .bin",
                                   path));
    }
    return std::vector<std::string>{path};
}

}  // namespace shardscope::tokens
