#include "app/cli/record/data_path.h"

#include "engine/launch/process.h"
#include "engine/launch/ssh/content_sums.h"
#include "engine/tokens/corpus.h"
#include "engine/tokens/text_files.h"
#include "engine/tokens/token_stream.h"
#include "storage/model/input_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLookedAt = 64 * 1024;

Result<void> checkFile(const fs::path& path) {
    // Ranks map it, each by itself.
    if (const int tried = openRegularFile(path.string()); tried >= 0)
        ::close(tried);
    else
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the data file {} cannot be read: {}; check it and its "
                                   "permissions",
                                   path.string(), inputTrouble(errno)));
    std::ifstream file(path, std::ios::binary);
    std::vector<char> front(kLookedAt);
    file.read(front.data(), static_cast<std::streamsize>(front.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    if (!file && !file.eof()) {
        return failure(
            ErrorCode::kUnreadable,
            fmt::format("the data file {} cannot be read; check its permissions", path.string()));
    }
    if (count == 0) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the data file {} is empty; name a text file or folder with "
                                   "--data",
                                   path.string()));
    }
    if (std::find(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(count), '\0') !=
        front.begin() + static_cast<std::ptrdiff_t>(count)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the data file {} is binary (it has zero bytes); name a text "
                                   "file or folder, or a token file named .bin, with --data",
                                   path.string()));
    }
    return {};
}

/// One text file is enough here; the ranks read the rest.
Result<void> checkFolder(const fs::path& path) {
    std::error_code error;
    auto entries = fs::recursive_directory_iterator(
        path, fs::directory_options::skip_permission_denied, error);
    for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
        if (entries->is_regular_file(error) && checkFile(entries->path())) return {};
    }
    return failure(ErrorCode::kUnreadable,
                   fmt::format("--data: {}", tokens::noTextIn(path.string()).message));
}

Result<void> checkPath(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the data {} is not there; name a text file or folder with "
                                   "--data",
                                   path));
    }
    if (tokens::isTokenData(path)) return {};
    return fs::is_directory(path, error) ? checkFolder(path) : checkFile(path);
}

bool isSourceTree(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "CMakePresets.json", error) &&
           fs::exists(folder / "storage/model/events.h", error);
}

namespace fs = std::filesystem;

/// In the package, so that no name is one of the package's own.
constexpr const char* kFolder = "data";
/// Not hexadecimal: programs are tidied away after a while, what was sent on request is not.
constexpr const char* kPackagePrefix = "sent-";
/// Of a name in an archive (ustar).
constexpr std::size_t kLongestName = 100;

Result<std::vector<std::string>> pathsOf(const std::string& path) {
    if (!tokens::isTokenData(path)) return tokens::findTextFiles(path);
    auto files = tokens::findTokenFiles(path);
    if (!files) return failure(files);
    std::vector<std::string> paths = std::move(files->training);
    paths.insert(paths.end(), files->validation.begin(), files->validation.end());
    return paths;
}

}  // namespace

Result<std::string> wholePath(const std::string& path) {
    if (path.empty()) return path;
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    if (!error) return whole.lexically_normal().string();
    return failure(ErrorCode::kUsage,
                   fmt::format("{} lies in the current folder, which is gone ({}); change to "
                               "another, or name the whole path",
                               path, error.message()));
}

Result<void> settleData(run::RunConfig& config) {
    for (const auto& [path, word] : {std::pair{&config.tokenizer, tokens::kBytes},
                                     std::pair{&config.data, tokens::kSynthetic}}) {
        if (*path == word) continue;
        auto whole = wholePath(*path);
        if (!whole) return failure(whole);
        *path = *whole;
    }
    if (config.data != tokens::kSynthetic) {
        auto checked = checkPath(config.data);
        if (!checked) return checked;
    }
    return tokens::checkCorpus(config);
}

Result<std::string> ownSourceTree() {
    for (fs::path folder = fs::path(launch::ownProgram()).parent_path();
         !folder.empty() && folder != folder.root_path(); folder = folder.parent_path()) {
        if (isSourceTree(folder)) return folder.string();
    }
    if (isSourceTree(SHARDSCOPE_SOURCE_DIR)) return std::string(SHARDSCOPE_SOURCE_DIR);
    return failure(ErrorCode::kUsage,
                   "Shardscope's own sources are not here to train on; name a text file or folder "
                   "with --data");
}

std::string placeInPackage(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return kFolder;
    return std::string(kFolder) + "/" + fs::path(path).filename().string();
}

Result<launch::PackageNames> dataFiles(const std::string& path) {
    const auto paths = pathsOf(path);
    if (!paths) return failure(paths);
    std::error_code ignored;
    const fs::path root =
        fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
    launch::PackageNames names;
    for (const std::string& each : *paths)
        names.emplace_back(
            each, std::string(kFolder) + "/" + fs::path(each).lexically_relative(root).string());
    return names;
}

run::DataChecked sumOfData(const std::string& path) {
    run::DataChecked answer;
    auto names = dataFiles(path);
    // A single file may be called something else on each host.
    std::error_code ignored;
    if (names && !fs::is_directory(path, ignored)) names->front().second = kFolder;
    const auto package = names ? launch::packageOf(*names, launch::contentSumsMemory())
                               : Result<launch::Package>(failure(names));
    const auto sum =
        package ? launch::contentSum(package->sums()) : Result<std::string>(failure(package));
    if (!sum) {
        answer.failure = sum.error().message;
        return answer;
    }
    answer.checksum = *sum;
    answer.bytes = package->size().count;
    return answer;
}

Result<launch::Package> dataPackage(const std::string& path) {
    const auto names = dataFiles(path);
    if (!names) return failure(names);
    for (const auto& [here, name] : *names)
        if (name.size() > kLongestName)
            return failure(ErrorCode::kUsage,
                           fmt::format("--send-data cannot send {}: its name below the data's "
                                       "folder is longer than {} bytes; shorten it, or copy the "
                                       "data by hand",
                                       here, kLongestName - std::string(kFolder).size() - 1));
    auto package = launch::packageOf(*names, launch::contentSumsMemory());
    if (package) package->folder = kPackagePrefix + package->folder;
    return package;
}

}  // namespace shardscope::cli
