#include "app/cli/data_files.h"

#include "engine/launch/ssh/content_sums.h"
#include "engine/tokens/text_files.h"
#include "engine/tokens/token_stream.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

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
