#include "engine/checkpoint/checkpoint_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace shardscope::checkpoint {
namespace {

constexpr std::string_view kPrefix = "step-";
/// In front, so that step-* names nothing that is not whole.
constexpr std::string_view kPartial = "partial-";
constexpr std::string_view kGoing = "partial-old-";
/// Of those that earlier versions left behind.
constexpr std::string_view kOldPartial = ".partial";

std::vector<std::string> foldersNamed(const std::string& folder, bool partial) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        const bool isStep = name.starts_with(kPrefix);
        const bool isPartial =
            isStep ? name.ends_with(kOldPartial)
                   : name.starts_with(kPartial) && name.find(kPrefix) != std::string::npos;
        if ((!isStep && !isPartial) || isPartial != partial) continue;
        const bool whole = std::filesystem::exists(entry.path() / kManifestName, error);
        if (partial || whole) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());  // steps are padded with zeros
    return paths;
}

}  // namespace

std::string checkpointPath(const std::string& folder, std::int32_t nextStep) {
    return fmt::format("{}/{}{:010}", folder, kPrefix, nextStep);
}

std::string partialPath(const std::string& folder, std::int32_t nextStep) {
    return fmt::format("{}/{}{}{:010}", folder, kPartial, kPrefix, nextStep);
}

std::string goingPath(const std::string& checkpoint) {
    const std::filesystem::path path(checkpoint);
    return (path.parent_path() / fmt::format("{}{}", kGoing, path.filename().string())).string();
}

std::string rankFileName(int rank) {
    return fmt::format("rank-{:05}.safetensors", rank);
}

std::vector<std::string> wholeCheckpoints(const std::string& folder) {
    return foldersNamed(folder, false);
}

std::vector<std::string> partialCheckpoints(const std::string& folder) {
    return foldersNamed(folder, true);
}

}  // namespace shardscope::checkpoint
