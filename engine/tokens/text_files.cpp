#include "engine/tokens/text_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProbeBytes = 64 << 10;

/// The start of a file; enough to tell what it is.
Result<std::string> probe(const fs::path& path) {
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
    if (files.empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("folder {} holds no text file; give a text file or a folder "
                                   "with some",
                                   folder.string()));
    }
    std::sort(files.begin(), files.end());
    return std::vector<std::string>(files.begin(), files.end());
}

}  // namespace

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
